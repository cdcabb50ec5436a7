package io.github.holdfast.service;

import io.github.holdfast.election.Leadership;
import io.github.holdfast.lock.LockHandle;
import java.lang.StackWalker.StackFrame;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/**
 * Hands out the connections of a pool, and notes for which calls of the API they are used and in which state they come back: the
 * pool itself would mend that.
 */
final class BorrowedConnections extends DelegatingDataSource {

    private static final StackWalker STACK = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private static final Set<String> SENDING =
            Set.of("prepareStatement", "createStatement", "setAutoCommit", "commit", "rollback");

    private final Set<String> calls = ConcurrentHashMap.newKeySet();
    private final ConcurrentLinkedQueue<String> changes = new ConcurrentLinkedQueue<>();
    private final AtomicInteger inUse = new AtomicInteger();
    private final List<?> usual;
    private volatile boolean isNoting;

    BorrowedConnections(DataSource pool) {
        super(pool);
        try (Connection connection = pool.getConnection()) {
            usual = state(connection);
        } catch (SQLException failed) {
            throw new IllegalStateException(failed);
        }
    }

    /** From now on calls are noted. */
    void note() {
        isNoting = true;
    }

    void noteNoMore() {
        isNoting = false;
    }

    /** Returns the public methods that have asked the database since this was asked last, while that was noted. */
    Set<String> takeCalls() {
        Set<String> taken = Set.copyOf(calls);
        calls.clear();
        return taken;
    }

    /** Returns how many connections were not given back yet. */
    int inUse() {
        return inUse.get();
    }

    /** Returns the states of those connections that came back in another one than they had left. */
    List<String> changes() {
        return List.copyOf(changes);
    }

    private static List<?> state(Connection connection) throws SQLException {
        return List.of(connection.getAutoCommit(), connection.isReadOnly(), connection.getTransactionIsolation());
    }

    @Override
    public Connection getConnection() throws SQLException {
        noteCalls();
        Connection real = super.getConnection();
        inUse.incrementAndGet();
        return (Connection) Proxy.newProxyInstance(
                BorrowedConnections.class.getClassLoader(), new Class<?>[] {Connection.class}, new Borrowed(real));
    }

    private void noteCalls() {
        if (isNoting) {
            calls.addAll(STACK.walk(frames -> frames.filter(BorrowedConnections::isOfApi)
                    .map(frame -> describe(
                            ofUsers(frame.getDeclaringClass()),
                            frame.getMethodName(),
                            frame.getMethodType().parameterList()))
                    .collect(Collectors.toSet())));
        }
    }

    private static boolean isOfApi(StackFrame frame) {
        Class<?> type = ofUsers(frame.getDeclaringClass());
        return PublicApiTest.API.contains(type.getPackageName())
                && (Modifier.isPublic(type.getModifiers()) || type == LockView.class);
    }

    /** The type that users know: all kinds of handles are one. */
    private static Class<?> ofUsers(Class<?> type) {
        if (Leadership.class.isAssignableFrom(type)) {
            return Leadership.class;
        }
        return LockHandle.class.isAssignableFrom(type) ? LockHandle.class : type;
    }

    /** As in {@code LockService.find(String)}. */
    static String describe(Class<?> type, String method, List<Class<?>> parameters) {
        return type.getSimpleName() + "." + method
                + parameters.stream().map(Class::getSimpleName).collect(Collectors.joining(", ", "(", ")"));
    }

    private final class Borrowed implements InvocationHandler {

        private final Connection real;
        private boolean isClosed;

        Borrowed(Connection real) {
            this.real = real;
        }

        @Override
        public @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
                throws Throwable {
            if (method.getName().equals("equals")) {
                return self == Objects.requireNonNull(arguments)[0];
            }
            if (SENDING.contains(method.getName())) {
                noteCalls();
            }
            if (method.getName().equals("close") && !isClosed) {
                isClosed = true;
                inUse.decrementAndGet();
                look();
            }
            try {
                return method.invoke(real, arguments);
            } catch (InvocationTargetException thrown) {
                throw Objects.requireNonNullElse(thrown.getCause(), thrown);
            }
        }

        /** A broken one is only asked whether it is: anything else would tell the pool, which is to find out itself. */
        private void look() throws SQLException {
            if (!real.isClosed() && real.isValid(5) && !state(real).equals(usual)) {
                changes.add(state(real) + " instead of " + usual);
            }
        }
    }
}
