package io.github.holdfast.service;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/**
 * Hands out the connections of another data source, watches how they come back, and lets one call on one of them fail or
 * something else happen before it. A pool
 * would mend most of what is given back to it in another state; around the pool it is still seen.
 */
public final class WatchedDataSource extends DelegatingDataSource {

    /** What becomes of a connection on which a call has failed. */
    enum Then {
        /** Only that call failed. */
        GOES_ON,
        /** All further calls fail, also that of {@code rollback}; only {@code close} does not. */
        IS_BROKEN
    }

    private static final Set<String> ALWAYS_POSSIBLE = Set.of("close", "isClosed", "isValid", "toString", "hashCode");

    private final AtomicInteger inUse = new AtomicInteger();
    private final AtomicInteger mostInUse = new AtomicInteger();
    private final AtomicInteger given = new AtomicInteger();
    private final AtomicInteger changed = new AtomicInteger();
    private volatile @Nullable String failing;
    private volatile Then then = Then.GOES_ON;

    private final List<Before> befores = new CopyOnWriteArrayList<>();

    private record Before(String part, Runnable work) {}

    public WatchedDataSource(DataSource target) {
        super(target);
    }

    /** Lets the next call of this method fail, on whatever connection; {@code getConnection} too. */
    void failNext(String method, Then then) {
        this.then = then;
        this.failing = method;
    }

    /** Does this once, before the next statement that contains this part is prepared, on the thread that does so. */
    void beforeNext(String part, Runnable work) {
        befores.add(new Before(part, work));
    }

    private void beforePreparing(String sql) {
        befores.stream()
                .filter(before -> sql.contains(before.part()))
                .findFirst()
                .filter(befores::remove)
                .ifPresent(before -> before.work().run());
    }

    /** Whether the call that was to fail has come. */
    boolean hasFailed() {
        return failing == null;
    }

    /** How many connections were not given back yet. */
    public int inUse() {
        return inUse.get();
    }

    /** How many connections were in use at the same time, at the most, since this was last asked. */
    int mostInUse() {
        return mostInUse.getAndSet(inUse.get());
    }

    /** How many connections were asked for and given. */
    int given() {
        return given.get();
    }

    /** How many connections were given back in another autoCommit mode than they came in, broken ones left out. */
    public int changed() {
        return changed.get();
    }

    @Override
    public Connection getConnection() throws SQLException {
        if (isToFail("getConnection")) {
            throw failure();
        }
        Connection real = super.getConnection();
        given.incrementAndGet();
        mostInUse.accumulateAndGet(inUse.incrementAndGet(), Math::max);
        return (Connection) Proxy.newProxyInstance(
                WatchedDataSource.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                new Watched(real, real.getAutoCommit()));
    }

    private boolean isToFail(String method) {
        if (!method.equals(failing)) {
            return false;
        }
        failing = null;
        return true;
    }

    private static SQLException failure() {
        return new SQLNonTransientConnectionException("Broken by the test", "08006");
    }

    private final class Watched implements InvocationHandler {

        private final Connection real;
        private final boolean autoCommit;
        private boolean isBroken;
        private boolean isClosed;

        Watched(Connection real, boolean autoCommit) {
            this.real = real;
            this.autoCommit = autoCommit;
        }

        @Override
        public @Nullable Object invoke(Object self, Method method, @Nullable Object @Nullable [] arguments)
                throws Throwable {
            if (method.getName().equals("equals")) {
                return self == Objects.requireNonNull(arguments)[0];
            }
            boolean isClose = method.getName().equals("close");
            if (isClose) {
                close();
            }
            if (method.getName().equals("prepareStatement") && arguments != null) {
                beforePreparing((String) Objects.requireNonNull(arguments[0]));
            }
            boolean fails = isToFail(method.getName());
            isBroken |= fails && then == Then.IS_BROKEN;
            if (fails || (isBroken && !ALWAYS_POSSIBLE.contains(method.getName()))) {
                throw failure();
            }
            if (isClose) {
                // Not again: HikariCP would clear the list of statements of the connection's next user.
                return null;
            }
            try {
                return method.invoke(real, arguments);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause() == null ? thrown : thrown.getCause();
            }
        }

        private void close() throws SQLException {
            if (isClosed) {
                return;
            }
            isClosed = true;
            inUse.decrementAndGet();
            if (!isBroken && !real.isClosed() && real.getAutoCommit() != autoCommit) {
                changed.incrementAndGet();
            }
            real.close();
        }
    }
}
