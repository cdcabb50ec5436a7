package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class IsolationTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends IsolationContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends IsolationContract {

        /** Each transaction reads the row that the other writes; nobody notices before the second one commits. */
        @Test
        void conflictThatTheCommitFindsIsAConflict(Database database) throws Exception {
            try (TestApplication application = application(Level.TRANSACTION_SERIALIZABLE);
                    OtherClient other = OtherClient.of(database)) {
                LockEntity row = application.create("a");
                application.create("b");
                AtomicBoolean allDone = new AtomicBoolean();
                Object outcome = outcomeOf(() -> application.call(locks -> {
                    application.query("select sum(hold_count) from distributed_lock");
                    other.executeUnchecked("set transaction isolation level serializable");
                    other.executeUnchecked("select sum(hold_count) from distributed_lock");
                    other.executeUnchecked(TestSql.touch("b"));
                    boolean superseded = locks.supersede("a", row.version());
                    other.commitUnchecked("select 1");
                    allDone.set(superseded);
                    return superseded;
                }));

                assertThat(allDone).isTrue();
                assertThat(outcome).isEqualTo("40001");
                assertThat(application.read("a").row().version()).isEqualTo(row.version());
            }
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    @Tag("other-database")
    class InMariaDb extends IsolationContract {}

    /** As it is from MariaDB 11.6.2 on unless it is configured. */
    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    @Tag("other-database")
    class InMariaDbWithSnapshotIsolation extends IsolationContract {

        /** MariaDB 10.11 has it from 10.11.8 on. */
        @BeforeEach
        void checkThatTheServerHasIt(Database database) {
            assumeTrue(
                    database.queryForLong("select count(*) from information_schema.system_variables"
                                    + " where variable_name = 'innodb_snapshot_isolation'")
                            > 0,
                    "the server has no innodb_snapshot_isolation");
        }

        @Override
        void configure(HikariConfig pool) {
            pool.setConnectionInitSql("set session innodb_snapshot_isolation = on");
        }

        @Override
        Object outcomeOfAStaleSnapshot() {
            return "1020";
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    @Tag("other-database")
    class InMySql extends IsolationContract {}
}
