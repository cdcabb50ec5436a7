package io.github.holdfast.liquibase;

import io.github.holdfast.repository.ReadableDuration;
import java.time.Duration;
import java.util.Objects;
import javax.sql.DataSource;
import liquibase.database.Database;

/**
 * Gives a run of Liquibase a lock with a lease. If the process of the run dies, the next run waits for the end of the lease, and then
 * goes on.
 *
 * <pre>{@code
 * Database database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
 * LiquibaseLock.on(dataSource).protect(database);
 * }</pre>
 *
 * <p>The lock is a row of the table {@code distributed_lock}. Its name is {@code liquibase:} and the schema of Liquibase's tables. For
 * each of its statements, it takes a connection of its own from the data source, and gives it back. A pool needs one connection more
 * than Liquibase. A thread renews the lease every third of it, until the end of the run.
 *
 * <p>With Spring Boot, this happens by itself. All processes that migrate a database must use this lock, because Liquibase's own lock does
 * not know of it. Instances are immutable and thread-safe.
 */
public final class LiquibaseLock {

    /** The shortest lease: 1 second. */
    public static final Duration SHORTEST_LEASE = Duration.ofSeconds(1);

    /** The longest lease: 1 day. */
    public static final Duration LONGEST_LEASE = Duration.ofDays(1);

    private static final Duration LONGEST_TOLERANCE = Duration.ofMinutes(1);

    private final DataSource dataSource;
    private final Duration lease;
    private final Duration clockTolerance;
    private final String application;

    private LiquibaseLock(DataSource dataSource, Duration lease, Duration clockTolerance, String application) {
        this.dataSource = dataSource;
        this.lease = lease;
        this.clockTolerance = clockTolerance;
        this.application = application;
    }

    /**
     * Returns a lock with a lease of 60 seconds. It does not connect to the database yet.
     *
     * @param dataSource not null; its connections must lead to the database that Liquibase changes, and be in the schema of the lock's
     *     table. If the table is missing, its user needs the privilege to create it
     */
    public static LiquibaseLock on(DataSource dataSource) {
        return new LiquibaseLock(
                Objects.requireNonNull(dataSource, "dataSource"), Duration.ofSeconds(60), Duration.ofMillis(100), "");
    }

    /**
     * Returns a lock with another lease. After the death of a process, others wait that long. A process that stands still for longer
     * than the lease loses the lock.
     *
     * @param duration {@link #SHORTEST_LEASE} to {@link #LONGEST_LEASE}. It should be shorter than Liquibase's wait for the lock,
     *     which is 5 minutes by default
     * @throws IllegalArgumentException if the duration is out of range
     */
    public LiquibaseLock lease(Duration duration) {
        if (duration.compareTo(SHORTEST_LEASE) < 0 || duration.compareTo(LONGEST_LEASE) > 0) {
            throw new IllegalArgumentException("The lease must be from %s to %s, not %s"
                    .formatted(
                            new ReadableDuration(SHORTEST_LEASE),
                            new ReadableDuration(LONGEST_LEASE),
                            new ReadableDuration(duration)));
        }
        return new LiquibaseLock(dataSource, duration, clockTolerance, application);
    }

    /**
     * Returns a lock with another clock tolerance: how long a lease must be over before a takeover. It covers a failover to a server
     * whose clock is ahead. All services of the table should have the same. By default it is 100 milliseconds.
     *
     * @param duration from 0 to 1 minute
     * @throws IllegalArgumentException if the duration is out of range
     */
    public LiquibaseLock clockTolerance(Duration duration) {
        if (duration.isNegative() || duration.compareTo(LONGEST_TOLERANCE) > 0) {
            throw new IllegalArgumentException("The clock tolerance must be from 0 to %s, not %s"
                    .formatted(new ReadableDuration(LONGEST_TOLERANCE), new ReadableDuration(duration)));
        }
        return new LiquibaseLock(dataSource, lease, duration, application);
    }

    /**
     * Returns a lock that names the application in the descriptions of its holders.
     *
     * @param name not null; empty for none
     */
    public LiquibaseLock application(String name) {
        return new LiquibaseLock(dataSource, lease, clockTolerance, Objects.requireNonNull(name, "name"));
    }

    /**
     * Protects the runs of Liquibase on this object. Call it before the run. It lasts as long as the object does. A second call for
     * the same object replaces the settings. No statement.
     *
     * @param database not null; the very object that Liquibase gets
     */
    public void protect(Database database) {
        ProtectedDatabase.add(Objects.requireNonNull(database, "database"), this);
    }

    LiquibaseLockRow row(String name) {
        return new LiquibaseLockRow(dataSource, name, lease, clockTolerance);
    }

    String application() {
        return application;
    }
}
