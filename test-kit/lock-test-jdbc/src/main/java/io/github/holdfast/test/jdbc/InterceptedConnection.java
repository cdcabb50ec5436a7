package io.github.holdfast.test.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A connection that passes each call on itself, and on its statements, to {@link #intercept}. */
abstract class InterceptedConnection {

    final Connection real;
    private final Connection proxy;

    InterceptedConnection(Connection real) {
        this.real = real;
        this.proxy = proxy(Connection.class, (self, method, arguments) -> onConnection(real, method, arguments));
    }

    final Connection proxy() {
        return proxy;
    }

    /** Executes the call with {@link Call#proceed()}, or replaces it. */
    abstract @Nullable Object intercept(Call call) throws Throwable;

    private @Nullable Object onConnection(Connection connection, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        Object result = intercept(new Call(connection, method, arguments, null));
        if (!(result instanceof Statement statement)) {
            return result;
        }
        String sql = arguments != null && arguments[0] instanceof String prepared ? prepared : null;
        return proxy(method.getReturnType().asSubclass(Statement.class), new InvocationHandler() {
            private final List<String> batch = new ArrayList<>();

            @Override
            public @Nullable Object invoke(Object self, Method called, @Nullable Object @Nullable [] values)
                    throws Throwable {
                return onStatement(statement, called, values, sql, batch);
            }
        });
    }

    private @Nullable Object onStatement(
            Statement statement,
            Method method,
            @Nullable Object @Nullable [] arguments,
            @Nullable String prepared,
            List<String> batch)
            throws Throwable {
        String given = arguments != null && arguments[0] instanceof String text ? text : null;
        if (method.getName().equals("getConnection")) {
            return proxy;
        }
        if (method.getName().equals("addBatch") && given != null) {
            batch.add(given);
        }
        if (method.getName().equals("clearBatch")) {
            batch.clear();
        }
        String sql = given != null ? given : prepared != null ? prepared : String.join("; ", batch);
        return intercept(new Call(statement, method, arguments, sql));
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(
                InterceptedConnection.class.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    // Pools keep connections in sets, so two proxies must never be equal.
                    if (method.getName().equals("equals")) {
                        return self == Objects.requireNonNull(arguments)[0];
                    }
                    return method.getName().equals("hashCode")
                            ? System.identityHashCode(self)
                            : handler.invoke(self, method, arguments);
                }));
    }

    /** One call on the connection or on one of its statements. */
    static final class Call {
        private final Object target;
        private final Method method;
        private final @Nullable Object @Nullable [] arguments;
        private final @Nullable String sql;

        Call(Object target, Method method, @Nullable Object @Nullable [] arguments, @Nullable String sql) {
            this.target = target;
            this.method = method;
            this.arguments = arguments;
            this.sql = sql;
        }

        String name() {
            return method.getName();
        }

        /** Returns the executed SQL, if {@link #isExecution()}. */
        String sql() {
            return Objects.requireNonNullElse(sql, "");
        }

        boolean isExecution() {
            return sql != null && name().startsWith("execute");
        }

        boolean isCommit() {
            return isOnConnection() && name().equals("commit");
        }

        boolean isOnConnection() {
            return target instanceof Connection;
        }

        @Nullable
        Object proceed() throws Throwable {
            try {
                return method.invoke(target, arguments);
            } catch (InvocationTargetException e) {
                throw Objects.requireNonNullElse(e.getCause(), e);
            }
        }
    }
}
