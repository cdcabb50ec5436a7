package io.github.holdfast.benchmark;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.JavaSources;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the page on own tables, compiled and run: by nodes of each release, beside nodes of each other one. */
@Tag("long")
class MigratingFromOwnTablesTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2 extends Contract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgresql extends Contract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends Contract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends Contract {}

    abstract static class Contract {

        @Test
        void theNodesOfThePageExcludeEachOtherAsItSays(Database database, @TempDir Path directory) throws Exception {
            List<String> blocks = JavaSources.blocksOf("migrate/migrating-from-own-tables.md");
            assertThat(blocks).hasSize(7);
            HoldfastLocks.createTables(database);
            database.execute(
                    "create table app_lock (name varchar(50) primary key)",
                    "create table job (name varchar(50) primary key, status varchar(10) not null, node varchar(50),"
                            + " running_until bigint)",
                    "create table account (id int primary key, balance bigint not null)",
                    "insert into job (name, status) values ('invoices', 'IDLE')",
                    "insert into account values (7, 100)");
            try (MigrationPage page = MigrationPage.compile(directory, PAGE.formatted(blocks.toArray()));
                    LockingNode one = new LockingNode(database);
                    LockingNode other = new LockingNode(database);
                    LockingNode third = new LockingNode(database);
                    Exclusive nodes = new Exclusive()) {
                for (String way : List.of("UniqueKey", "Status", "Row")) {
                    UnderLock old = node(page, "old" + way, one);
                    UnderLock both = node(page, "both" + way, other);
                    UnderLock anotherBoth = node(page, "both" + way, third);
                    UnderLock next = node(page, "new" + way, third);
                    nodes.assertThatTheyExcludeEachOther(old, node(page, "old" + way, other));
                    nodes.assertThatTheyExcludeEachOther(old, both);
                    nodes.assertThatTheyExcludeEachOther(both, anotherBoth);
                    nodes.assertThatTheyExcludeEachOther(both, next);
                    nodes.assertThatTheyDoNotSeeEachOther(old, next);
                }
                assertThatARefusedNodeHoldsNothing(page, nodes, one, other, third);
            }
        }

        private static void assertThatARefusedNodeHoldsNothing(
                MigrationPage page, Exclusive nodes, LockingNode one, LockingNode other, LockingNode third)
                throws Exception {
            try (Exclusive.Inside old = nodes.enter(node(page, "oldStatus", one))) {
                assertThat(node(page, "bothStatus", other).run(() -> {})).isFalse();
                assertThat(node(page, "newStatus", third).run(() -> {})).isTrue();
                old.leave();
            }
        }

        private static UnderLock node(MigrationPage page, String method, LockingNode node) throws Exception {
            return page.node(method, node.locks(), node.jdbc(), node.transaction());
        }
    }

    private static final String PAGE = """
            package example;

            import io.github.holdfast.benchmark.UnderLock;
            import io.github.holdfast.lock.*;
            import java.time.Duration;
            import java.util.Optional;
            import java.util.UUID;
            import org.springframework.dao.DuplicateKeyException;
            import org.springframework.jdbc.core.JdbcTemplate;
            import org.springframework.transaction.support.TransactionTemplate;

            interface FormerLock {
                boolean lock(String name);

                void unlock(String name);
            }

            %1$s

            %2$s

            %6$s

            public class Page {

                interface Invoices {
                    void send();
                }

                interface Account {
                    void book();
                }

                public static UnderLock oldUniqueKey(Locks locks, JdbcTemplate jdbc, TransactionTemplate transaction) {
                    return old(new UniqueKeyLock(jdbc));
                }

                public static UnderLock oldStatus(Locks locks, JdbcTemplate jdbc, TransactionTemplate transaction) {
                    return old(new StatusLock(jdbc));
                }

                private static UnderLock old(FormerLock lock) {
                    return work -> {
                        if (!lock.lock("invoices")) {
                            return false;
                        }
                        try {
                            work.run();
                            return true;
                        } finally {
                            lock.unlock("invoices");
                        }
                    };
                }

                public static UnderLock bothUniqueKey(Locks locks, JdbcTemplate jdbc, TransactionTemplate transaction) {
                    return work -> new BothLocks(locks, new UniqueKeyLock(jdbc)).runIfFree("invoices", work);
                }

                public static UnderLock bothStatus(Locks locks, JdbcTemplate jdbc, TransactionTemplate transaction) {
                    return work -> new BothLocks(locks, new StatusLock(jdbc)).runIfFree("invoices", work);
                }

                public static UnderLock newUniqueKey(Locks locks, JdbcTemplate jdbc, TransactionTemplate transaction) {
                    return newStatus(locks, jdbc, transaction);
                }

                public static UnderLock newStatus(Locks locks, JdbcTemplate jdbc, TransactionTemplate transaction) {
                    return work -> {
                        Invoices invoices = work::run;
                        %4$s
                        return acquired.isPresent();
                    };
                }

                public static UnderLock oldRow(Locks locks, JdbcTemplate jdbc, TransactionTemplate transaction) {
                    return work -> {
                        Account account = work::run;
                        %3$s
                        return true;
                    };
                }

                public static UnderLock bothRow(Locks locks, JdbcTemplate jdbc, TransactionTemplate transaction) {
                    return work -> {
                        Account account = work::run;
                        %7$s
                        return true;
                    };
                }

                public static UnderLock newRow(Locks locks, JdbcTemplate jdbc, TransactionTemplate transaction) {
                    return work -> {
                        Account account = work::run;
                        %5$s
                        return true;
                    };
                }
            }
            """;
}
