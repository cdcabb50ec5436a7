package io.github.holdfast.repository;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link PermitRowsContract} on all databases. */
class PermitRowsTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends PermitRowsContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2Tcp extends PermitRowsContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends PermitRowsContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDbThatCountsChangedRows extends PermitRowsContract {
        @Override
        void configure(HikariConfig pool) {
            pool.setJdbcUrl(pool.getJdbcUrl() + "?useAffectedRows=true");
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends PermitRowsContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySqlThatCountsChangedRows extends PermitRowsContract {
        @Override
        void configure(HikariConfig pool) {
            pool.setJdbcUrl(pool.getJdbcUrl() + "&useAffectedRows=true");
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends PermitRowsContract {}
}
