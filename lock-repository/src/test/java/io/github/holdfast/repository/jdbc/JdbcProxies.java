package io.github.holdfast.repository.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Data sources, connections and statements that differ from the driver's in one way. */
public final class JdbcProxies {

    private JdbcProxies() {}

    /** A proxy, which is equal only to itself: pools keep connections in sets. */
    public static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(
                JdbcProxies.class.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    default -> handler.invoke(proxy, method, arguments);
                }));
    }

    /** A data source whose connections are those of another one, changed by this. */
    public static DataSource dataSource(DataSource real, UnaryOperator<Connection> changed) {
        return proxy(DataSource.class, (proxy, method, arguments) -> {
            Object result = invoke(real, method, arguments);
            return result instanceof Connection connection ? changed.apply(connection) : result;
        });
    }

    /** Calls the driver, and throws what it throws. */
    public static @Nullable Object invoke(Object target, Method method, Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }
}
