package io.github.holdfast.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.contract.LockContract;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import javax.sql.DataSource;
import org.hibernate.Version;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.springframework.core.SpringVersion;

/** The core, as it was built for Hibernate 7, keeps its promises with Hibernate 6.6 and Spring 6.2. */
class LockContractTest {

    @Test
    void itIsHibernate6() {
        assertThat(Version.getVersionString()).startsWith("6.6.");
        assertThat(SpringVersion.getVersion()).startsWith("6.2.");
    }

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2 extends OnHibernate6 {

        OnH2(Database database) {
            super(database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgresql extends OnHibernate6 {

        OnPostgresql(Database database) {
            super(database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends OnHibernate6 {

        OnMariaDb(Database database) {
            super(database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMysql extends OnHibernate6 {

        OnMysql(Database database) {
            super(database);
        }
    }

    abstract static class OnHibernate6 extends LockContract {

        private final Database database;

        OnHibernate6(Database database) {
            this.database = database;
        }

        @Override
        protected DataSource dataSource() {
            return database.dataSource();
        }
    }
}
