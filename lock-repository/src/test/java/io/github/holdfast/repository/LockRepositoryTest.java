package io.github.holdfast.repository;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class LockRepositoryTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends LockRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class InH2File extends LockRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2OverTcp extends LockRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends LockRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends LockRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDbThatCountsChangedRows extends LockRepositoryContract {
        @Override
        void configure(HikariConfig pool) {
            pool.setJdbcUrl(pool.getJdbcUrl() + "?useAffectedRows=true");
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends LockRepositoryContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySqlThatCountsChangedRows extends LockRepositoryContract {
        @Override
        void configure(HikariConfig pool) {
            pool.setJdbcUrl(pool.getJdbcUrl() + "&useAffectedRows=true");
        }
    }
}
