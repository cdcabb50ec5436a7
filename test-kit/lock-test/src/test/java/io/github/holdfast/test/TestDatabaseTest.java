package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class TestDatabaseTest {

    /** What holds for each kind. Its life-cycle and test methods are inherited by the annotated classes. */
    abstract static class DatabaseContract {

        private final TestDatabase kind;
        private final String product;
        private final Database database;

        DatabaseContract(TestDatabase kind, String product, Database database) {
            this.kind = kind;
            this.product = product;
            this.database = database;
        }

        @BeforeEach
        void hasTheSameDatabaseAsTheConstructor(Database database) {
            assertThat(database).isSameAs(this.database);
        }

        @Test
        void isTheRightEngine(Database database) throws SQLException {
            assertThat(database.kind()).isEqualTo(kind);
            assertThat(database.queryForString(kind.isH2() ? "select h2version()" : "select version()"))
                    .contains(product);
            assertThat(database.version()).matches("[0-9.]+");
            try (Connection connection = database.dataSource().getConnection()) {
                assertThat(connection.getMetaData().getDatabaseProductVersion()).startsWith(database.version());
            }
        }

        @Test
        void isEmpty(Database database) {
            String schema = kind.isH2() ? "'PUBLIC'" : kind == TestDatabase.POSTGRESQL ? "'public'" : "database()";
            assertThat(database.queryForLong(
                            "select count(*) from information_schema.tables where table_schema = " + schema))
                    .isZero();
        }

        @Test
        void isNotUtc(Database database) {
            String offset = kind.isH2() || kind == TestDatabase.POSTGRESQL
                    ? "select extract(timezone_hour from current_timestamp)"
                    : "select timestampdiff(hour, utc_timestamp, now())";
            assertThat(database.queryForLong(offset)).isNotZero();
        }

        @Test
        void takesScripts(Database database) {
            database.executeScript("""
                    create table script (id int primary key);
                    -- a comment; with a semicolon
                    insert into script (id)
                    values (1);
                    insert into script values (2);
                    """);
            assertThat(database.queryForLong("select count(*) from script")).isEqualTo(2);
            database.execute("drop table script");
        }

        /** That of a pool is not for those who have connections from here directly; that of H2's driver is not used. */
        @Test
        void aPoolLeavesTheLoginTimeoutAlone(Database database) throws SQLException {
            DataSource shared = database.dataSource();
            int before = shared.getLoginTimeout();
            shared.setLoginTimeout(before + 1);
            assertThat(shared.getLoginTimeout()).isEqualTo(kind.isH2() ? before + 1 : before);
        }

        @Test
        void poolsAreClosedWithTheDatabase() {
            Database database = Database.create(kind);
            HikariDataSource pool = database.pool(config -> config.setMaximumPoolSize(2));
            database.execute("create table leftover (id int)");
            database.close();
            assertThat(pool.isClosed()).isTrue();
        }

        @Test
        void forgottenTransactionDoesNotKeepTheDatabase() throws SQLException {
            Database database = Database.create(kind);
            database.execute("create table forgotten (id int)");
            Connection connection = database.dataSource().getConnection();
            connection.setAutoCommit(false);
            connection.createStatement().execute("insert into forgotten values (1)");
            database.close();
            assertThatThrownBy(() -> connection.createStatement().execute("insert into forgotten values (2)"))
                    .isInstanceOf(SQLException.class);
        }

        @Test
        void databasesDoNotSeeEachOther(Database database) {
            database.execute("create table mine (id int)");
            try (Database other = Database.create(kind)) {
                other.execute("create table mine (id int)");
            }
            database.execute("drop table mine");
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends DatabaseContract {
        OnH2Memory(Database database) {
            super(TestDatabase.H2_MEMORY, "2.", database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class OnH2File extends DatabaseContract {
        OnH2File(Database database) {
            super(TestDatabase.H2_FILE, "2.", database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends DatabaseContract {
        OnH2Tcp(Database database) {
            super(TestDatabase.H2_TCP, "2.", database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgresql extends DatabaseContract {
        OnPostgresql(Database database) {
            super(TestDatabase.POSTGRESQL, "PostgreSQL 18", database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends DatabaseContract {
        OnMariaDb(Database database) {
            super(TestDatabase.MARIADB, "MariaDB", database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends DatabaseContract {
        OnMySql(Database database) {
            super(TestDatabase.MYSQL, "8.0.33", database);
        }

        /** A pool over a JDBC URL has set it for all, and this server is too slow for it. */
        @Test
        void aLoginThatTheTimeoutOfDriverManagerHasEndedIsRepeated(Database database) throws Exception {
            int before = DriverManager.getLoginTimeout();
            DriverManager.setLoginTimeout(1);
            try (ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
                silent.setSoTimeout(60_000);
                String url = database.url().replaceFirst("//[^/]*/", "//localhost:" + silent.getLocalPort() + "/");
                DataSource source = DataSources.of(TestDatabase.MYSQL, url, database.user(), database.password());
                CompletableFuture<Void> login = CompletableFuture.runAsync(() -> Sql.execute(source, "select 1"));
                try (Socket first = silent.accept();
                        Socket second = silent.accept()) {
                    assertThat(second.getPort()).isNotEqualTo(first.getPort());
                }
                silent.close();
                assertThatThrownBy(login::join).hasStackTraceContaining("Communications");
            } finally {
                DriverManager.setLoginTimeout(before);
            }
        }
    }
}
