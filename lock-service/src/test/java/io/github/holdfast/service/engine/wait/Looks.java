package io.github.holdfast.service.engine.wait;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLSyntaxErrorException;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** Connections on which the looks of {@link WaiterPoller} are counted, and get no answer or are refused when a test says so. */
public final class Looks extends DelegatingDataSource {

    /** Housekeeping has it too, so it is switched off. */
    private static final String PART_OF_LOOKS = "name in (";

    private final Semaphore answers = new Semaphore(1);
    private final AtomicInteger looks = new AtomicInteger();
    private final AtomicInteger others = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private volatile boolean isRefusing;

    Looks(DataSource target) {
        super(target);
    }

    /** From now on, looks get no answer. Nothing else is held up. */
    void hang() {
        answers.acquireUninterruptibly();
    }

    /** Whether a look has no answer yet. */
    boolean isOneHanging() {
        return answers.hasQueuedThreads();
    }

    /** Ends {@link #hang}, if it has begun. */
    void answer() {
        if (answers.availablePermits() == 0) {
            answers.release();
        }
    }

    /** From now on, looks are refused, as if the right to read a table were missing. */
    void refuse() {
        isRefusing = true;
    }

    void permit() {
        isRefusing = false;
    }

    /** How many looks were refused so far. */
    int refused() {
        return refused.get();
    }

    /** Whether there were looks, and hardly any other statement, since this was last asked. */
    boolean wereThereHardlyOthers() {
        int other = others.getAndSet(0);
        return looks.getAndSet(0) > 0 && other <= 2;
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection real = super.getConnection();
        return (Connection) Proxy.newProxyInstance(
                Looks.class.getClassLoader(), new Class<?>[] {Connection.class}, (self, method, arguments) -> {
                    if (method.getName().equals("equals")) {
                        return self == Objects.requireNonNull(arguments)[0];
                    }
                    if (method.getName().equals("prepareStatement") && arguments != null) {
                        beforePreparing((String) Objects.requireNonNull(arguments[0]));
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause() == null ? thrown : thrown.getCause();
                    }
                });
    }

    private void beforePreparing(String sql) throws SQLException {
        if (!sql.contains(PART_OF_LOOKS)) {
            others.incrementAndGet();
            return;
        }
        looks.incrementAndGet();
        if (isRefusing) {
            refused.incrementAndGet();
            throw new SQLSyntaxErrorException("Refused by the test", "42501");
        }
        answers.acquireUninterruptibly();
        answers.release();
    }
}
