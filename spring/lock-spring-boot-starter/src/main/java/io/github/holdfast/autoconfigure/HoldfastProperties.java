package io.github.holdfast.autoconfigure;

import io.github.holdfast.actuate.LocksEndpoint;
import io.github.holdfast.repository.DatabaseRisk;
import java.time.Duration;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.util.StringUtils;

/**
 * The application's properties. The receiving classes check the ranges, so that the same limits apply without Spring Boot.
 *
 * @param enabled whether Holdfast is configured at all
 * @param application the name of the application, which appears in the description of a lock's holder: up to 100 characters; by
 *     default spring.application.name
 * @param nodeLease how long a process keeps its locks after it has died or lost its connection: 1 second to 1 day
 * @param lockDelay how long a lock stays unavailable after a dead or expired holder: up to 365 days. All processes should have
 *     the same
 * @param clockTolerance how long a lease must be over by the database's clock before a takeover: zero to 1 minute, and more than
 *     the clock difference between machines that may run the database. All processes should have the same
 * @param maxRowLocks the limit of row locks that are held or awaited at a time outside the callers' transactions; each
 *     uses one of the application's connections
 * @param singleWriter whether all processes write to the same server of a Galera cluster, or of a group with several primaries;
 *     row locks are safe only then
 * @param wakeUp whether a release wakes waiting threads of other processes, on PostgreSQL, MySQL and MariaDB; for that, one
 *     connection of the process listens as soon as a thread has waited for long
 * @param leakDetection how long a lock may be held without a warning with the stack of its acquisition: 1 second to 365 days; by default
 *     forever
 * @param keepReleased how long a released lock is kept for the next acquisition in this process: zero to 1 second; by default not at all
 * @param accept the risks of the database that do not stop the start-up
 * @param housekeeping how the lock tables are cleaned
 * @param jpa the persistence unit of the locks
 * @param schema what creates the tables of the locks
 * @param datasource connections for lock operations only; any of these properties creates a separate pool
 * @param shutdown how the application stops
 * @param endpoint what the Actuator endpoint may do
 * @param web what clients are answered, in applications with Spring MVC
 */
@ConfigurationProperties("holdfast")
record HoldfastProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String application,
        @DefaultValue("30s") Duration nodeLease,
        @DefaultValue("0s") Duration lockDelay,
        @DefaultValue("100ms") Duration clockTolerance,
        @DefaultValue("5") int maxRowLocks,
        @DefaultValue("false") boolean singleWriter,
        @DefaultValue("true") boolean wakeUp,
        @Nullable Duration leakDetection,
        @Nullable Duration keepReleased,
        @DefaultValue Set<DatabaseRisk> accept,
        @DefaultValue Housekeeping housekeeping,
        @DefaultValue Jpa jpa,
        @DefaultValue Schema schema,
        @DefaultValue Datasource datasource,
        @DefaultValue Shutdown shutdown,
        @DefaultValue Endpoint endpoint,
        @DefaultValue Web web) {

    /**
     * How the lock tables are cleaned.
     *
     * @param enabled whether this process takes part in housekeeping
     * @param period how often housekeeping runs, in one of all processes: 1 second to 365 days
     * @param retention how long the rows of unused locks and of dead nodes are kept: 1 hour to 365 days
     */
    record Housekeeping(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("10m") Duration period,
            @DefaultValue("7d") Duration retention) {}

    /**
     * The persistence unit of the locks.
     *
     * @param persistenceUnit the name of the persistence unit whose database has the locks; needed if there are several
     * @param ownUnit whether the locks have a persistence unit of their own, apart from the application's. For applications whose
     *     units have JTA transactions, or a schema or database for each tenant. Their commits are then checked, but not fenced
     */
    record Jpa(@Nullable String persistenceUnit, boolean ownUnit) {}

    /**
     * What creates the tables.
     *
     * @param management what creates the lock tables. By default none if Hibernate creates the tables of the persistence unit
     *     (ddl-auto); else liquibase if Liquibase is present and enabled; else validate if Liquibase or Flyway is
     *     present, unless Hibernate updates the tables; else sql, which creates missing tables
     * @param script a file to which the SQL for the lock tables of this persistence unit is written at the start
     */
    record Schema(
            @Nullable SchemaManagement management, @Nullable String script) {

        Schema {
            script = textOrNull(script);
        }
    }

    /**
     * A pool for lock operations only, on the same database.
     *
     * @param url JDBC URL; the application's by default
     * @param username user; the application's by default
     * @param password password; the application's by default
     * @param maximumPoolSize the number of connections: two, and one for each thread that often acquires locks
     * @param connectionTimeout how long a thread waits for a connection: 250 milliseconds or longer, preferably shorter than a
     *     third of the node lease and than the wait times of requests
     */
    record Datasource(
            @Nullable String url,
            @Nullable String username,
            @Nullable String password,
            @DefaultValue("5") int maximumPoolSize,
            @DefaultValue("5s") Duration connectionTimeout) {

        Datasource {
            url = textOrNull(url);
            username = textOrNull(username);
            if (username == null) {
                password = textOrNull(password);
            }
        }

        /** Omits the password. */
        @Override
        public String toString() {
            return "Datasource[url=%s, username=%s, maximumPoolSize=%d]".formatted(url, username, maximumPoolSize);
        }
    }

    /**
     * How the application stops.
     *
     * @param gracePeriod how long holders of locks may continue, after the web server and the schedulers have stopped, before
     *     the locks are lost: up to 365 days
     */
    record Shutdown(@DefaultValue("10s") Duration gracePeriod) {}

    /**
     * What the Actuator endpoint may do.
     *
     * @param forceRelease whether the Actuator endpoint locks may release locks and permits by force, and change the limits of
     *     semaphores
     */
    record Endpoint(@DefaultValue("disabled") LocksEndpoint.ForcedRelease forceRelease) {}

    /**
     * What clients are answered.
     *
     * @param mapExceptions whether a request is answered by 503 or 409 instead of 500 if its lock was refused or lost, and the
     *     application does not handle that exception
     * @param retryAfter when a client may try again after the answer 503: zero to 1 day, rounded up to seconds
     */
    record Web(
            @DefaultValue("true") boolean mapExceptions,
            @DefaultValue("1s") Duration retryAfter) {}

    /** Takes a blank value, such as that of {@code ${LOCK_DB_URL:}}, as one that is not set. Spring Boot does so for its data source. */
    private static @Nullable String textOrNull(@Nullable String value) {
        return StringUtils.hasText(value) ? value : null;
    }

    /** Sets a property. The setter checks the range. An error also names the property and its origin. */
    static <T> void set(String property, T value, Consumer<T> setter) {
        try {
            setter.accept(value);
        } catch (IllegalArgumentException refused) {
            throw new InvalidConfigurationPropertyValueException(property, value, refused.getMessage());
        }
    }
}
