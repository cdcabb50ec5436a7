package io.github.holdfast.autoconfigure;

import io.github.holdfast.actuate.LocksEndpoint;
import io.github.holdfast.console.LockConsole;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What the application's properties say. Ranges are checked by those who are given the values, so that they are the same as
 * without Spring Boot.
 *
 * @param enabled whether Holdfast is configured at all
 * @param application which application this is, for those who look who holds a lock: up to 100 characters; by default
 *     spring.application.name
 * @param nodeLease how long a dead process keeps its locks, and a live one without a connection: 1 second to 1 day
 * @param lockDelay how long nobody may have a lock that a dead or expired holder left: up to 365 days. All processes should
 *     have the same
 * @param clockTolerance for how long a lease must have been over by the database's clock before anybody takes the lock from its
 *     holder: zero to 1 minute, longer than the clocks differ of the machines that may become the database. All processes should have
 *     the same
 * @param maxRowLocks how many row locks may be held or waited for at a time outside the callers' transactions, each with one
 *     of the application's connections
 * @param singleWriter whether all processes write to one and the same server of a Galera cluster, or of several primaries, at a
 *     time, so that row locks are safe there
 * @param wakeUpByNotification whether waiting threads are woken when another process releases the lock; on PostgreSQL only. All
 *     processes should have the same
 * @param housekeeping how the lock tables are tidied up
 * @param jpa where the locks are
 * @param schema who creates the tables of the locks
 * @param datasource connections that only lock operations use; any of these properties makes a pool of its own
 * @param shutdown how the application stops
 * @param endpoint what the Actuator endpoint may do
 * @param console the page that shows what is locked
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
        @DefaultValue("false") boolean wakeUpByNotification,
        @DefaultValue Housekeeping housekeeping,
        @DefaultValue Jpa jpa,
        @DefaultValue Schema schema,
        @DefaultValue Datasource datasource,
        @DefaultValue Shutdown shutdown,
        @DefaultValue Endpoint endpoint,
        @DefaultValue Console console) {

    /**
     * How the tables are tidied up.
     *
     * @param enabled whether this process takes its turn at it
     * @param period how often, by one of all processes: 1 second to 365 days
     * @param retention how long the rows of locks that nobody uses, and of dead nodes, are kept: 1 hour to 365 days
     */
    record Housekeeping(
            @DefaultValue("true") boolean enabled,
            @DefaultValue("10m") Duration period,
            @DefaultValue("7d") Duration retention) {}

    /**
     * Where the locks are.
     *
     * @param persistenceUnit the name of the persistence unit whose database has the locks; needed if there are several
     */
    record Jpa(@Nullable String persistenceUnit) {}

    /**
     * Who creates the tables.
     *
     * @param management who creates the tables of the locks. By default nobody does if Hibernate creates the application's
     *     (ddl-auto); else Liquibase if it is there; else they are expected if Flyway is there or Liquibase is disabled;
     *     else the SQL that ships is run for those that are missing
     */
    record Schema(@Nullable SchemaManagement management) {}

    /**
     * A pool for lock operations only, on the same database.
     *
     * @param url JDBC URL; the application's by default
     * @param username user; the application's by default
     * @param password password; the application's by default
     * @param maximumPoolSize how many connections: two, and one for each thread that often locks
     * @param connectionTimeout how long a thread waits for a connection: 250 milliseconds or longer, best shorter than a
     *     third of the node lease and than the wait times of requests
     */
    record Datasource(
            @Nullable String url,
            @Nullable String username,
            @Nullable String password,
            @DefaultValue("5") int maximumPoolSize,
            @DefaultValue("5s") Duration connectionTimeout) {

        /** Without the password. */
        @Override
        public String toString() {
            return "Datasource[url=%s, username=%s, maximumPoolSize=%d]".formatted(url, username, maximumPoolSize);
        }
    }

    /**
     * How the application stops.
     *
     * @param gracePeriod how long those who hold a lock may go on, after the web server and the schedulers have stopped, before
     *     the locks are lost: up to 365 days
     */
    record Shutdown(@DefaultValue("10s") Duration gracePeriod) {}

    /**
     * What the Actuator endpoint may do.
     *
     * @param forceRelease whether the Actuator endpoint locks may take locks away from their holders
     */
    record Endpoint(@DefaultValue("disabled") LocksEndpoint.ForcedRelease forceRelease) {}

    /**
     * The page that shows what is locked, in applications with Spring MVC. Secure it.
     *
     * @param enabled whether there is a console
     * @param path where it is, after the context path
     * @param forceRelease whether those who have logged in may take locks away from their holders on the page
     */
    record Console(
            @DefaultValue("false") boolean enabled,
            @DefaultValue("/holdfast") String path,
            @DefaultValue("disabled") LockConsole.ForcedRelease forceRelease) {}
}
