package io.github.holdfast.test.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A data source whose statements and commits are sometimes late, as those of a process that is paused between what it has read and what
 * it writes. Which ones are late, and for how long, is random. Thread-safe.
 *
 * <pre>{@code
 * DataSource pausing = new PausingDataSource(database.dataSource(), 0.05, ofMillis(150));
 * }</pre>
 */
public final class PausingDataSource extends InterceptedDataSource {

    private final double share;
    private final long longestNanos;
    private final LongAdder pauses = new LongAdder();

    /**
     * Wraps a data source.
     *
     * @param real the source of the connections
     * @param share how many of all statements and commits are late; 0 (none) to 1 (all)
     * @param longest the longest pause; positive
     */
    public PausingDataSource(DataSource real, double share, Duration longest) {
        super(real);
        this.share = share;
        this.longestNanos = longest.toNanos();
    }

    /**
     * Returns how many statements and commits were late.
     *
     * @return the number of pauses
     */
    public long pauses() {
        return pauses.sum();
    }

    @Override
    Connection connect(Connector connector) throws SQLException {
        return new InterceptedConnection(connector.connect()) {
            @Override
            @Nullable
            Object intercept(Call call) throws Throwable {
                if (call.isExecution() || call.isCommit()) {
                    pause();
                }
                return call.proceed();
            }
        }.proxy();
    }

    private void pause() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        if (random.nextDouble() < share) {
            pauses.increment();
            LockSupport.parkNanos(random.nextLong(longestNanos));
        }
    }
}
