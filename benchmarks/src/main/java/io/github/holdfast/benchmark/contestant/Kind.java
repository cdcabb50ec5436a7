package io.github.holdfast.benchmark.contestant;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/**
 * The compared lock libraries. Each is set up as its users would set it up: with the database's clock, and with its default way
 * of waiting.
 */
public enum Kind {
    /** The minimum work of any lock with two commits. */
    FLOOR("floor: two statements of raw JDBC") {
        @Override
        public void createTables(Database database) {
            Floor.createTable(database);
        }

        @Override
        public Contestant open(TestDatabase database, HikariDataSource pool) {
            return new Floor(database, pool);
        }
    },
    HOLDFAST("Holdfast") {
        @Override
        public void createTables(Database database) {
            HoldfastLocks.createTables(database);
        }

        @Override
        public Contestant open(TestDatabase database, HikariDataSource pool) {
            return new HoldfastLocks(pool, LockRequest::of);
        }
    },
    /** Holdfast with {@code keepReleased}. It has names of its own, or the other one would wait for what this one keeps. */
    KEPT("Holdfast, kept locks") {
        @Override
        public void createTables(Database database) {
            HoldfastLocks.createTables(database);
        }

        @Override
        public Contestant open(TestDatabase database, HikariDataSource pool) {
            return new HoldfastLocks(
                    pool,
                    name -> LockRequest.of("kept " + name),
                    builder -> builder.keepReleased(Duration.ofMillis(50)));
        }
    },
    /** Only compared where processes compete. */
    FAIR("Holdfast, fair requests") {
        @Override
        public void createTables(Database database) {
            HoldfastLocks.createTables(database);
        }

        @Override
        public Contestant open(TestDatabase database, HikariDataSource pool) {
            return new HoldfastLocks(pool, name -> LockRequest.of(name).fair());
        }
    },
    SHEDLOCK("ShedLock 7.10.1") {
        @Override
        public void createTables(Database database) {
            ShedLock.createTable(database);
        }

        @Override
        public Contestant open(TestDatabase database, HikariDataSource pool) {
            return new ShedLock(pool);
        }
    },
    SPRING_INTEGRATION("Spring Integration 7.0.5") {
        @Override
        public void createTables(Database database) {
            SpringIntegration.createTable(database);
        }

        @Override
        public Contestant open(TestDatabase database, HikariDataSource pool) {
            return new SpringIntegration(pool);
        }
    };

    private final String label;

    Kind(String label) {
        this.label = label;
    }

    public String label() {
        return label;
    }

    /** Returns one contestant for each library. */
    public static Set<Kind> libraries() {
        return EnumSet.complementOf(EnumSet.of(FAIR));
    }

    public abstract void createTables(Database database);

    /** Opens a node. The node does not close the pool. */
    public abstract Contestant open(TestDatabase database, HikariDataSource pool);
}
