package io.github.holdfast.test;

import com.mysql.cj.jdbc.MysqlDataSource;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.mariadb.jdbc.MariaDbDataSource;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * The data sources of the drivers, without a pool. All tests share them, so their login timeouts are fixed. Otherwise each
 * HikariCP pool would set them to its connectionTimeout.
 */
final class DataSources {

    private static final int LOGIN_SECONDS = 30;

    private DataSources() {}

    static DataSource of(TestDatabase kind, String url, String user, String password) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP -> {
                JdbcDataSource h2 = new JdbcDataSource();
                h2.setUrl(url);
                h2.setUser(user);
                h2.setPassword(password);
                yield h2;
            }
            case POSTGRESQL -> {
                PostgresqlDataSource postgresql = new PostgresqlDataSource();
                postgresql.setUrl(url);
                postgresql.setUser(user);
                postgresql.setPassword(password);
                yield postgresql;
            }
            case MARIADB -> mariaDb(url, user, password);
            case MYSQL -> {
                MysqlDataSource mysql = new MysqlDataSource();
                mysql.setUrl(url);
                mysql.setUser(user);
                mysql.setPassword(password);
                yield mysql;
            }
        };
    }

    private static DataSource mariaDb(String url, String user, String password) {
        try {
            MariaDbDataSource mariaDb = new MariaDbLoginDataSource();
            mariaDb.setUrl(url);
            mariaDb.setUser(user);
            mariaDb.setPassword(password);
            return mariaDb;
        } catch (SQLException e) {
            throw new IllegalArgumentException("Not a URL of MariaDB: " + url, e);
        }
    }

    @SuppressWarnings("serial")
    private static final class PostgresqlDataSource extends PGSimpleDataSource {

        PostgresqlDataSource() {
            // Otherwise the driver uses DriverManager's timeout, which these pools set too.
            super.setLoginTimeout(LOGIN_SECONDS);
        }

        @Override
        public void setLoginTimeout(int seconds) {
            // Ignored: the timeout is fixed.
        }
    }

    private static final class MariaDbLoginDataSource extends MariaDbDataSource {

        @Override
        public void setLoginTimeout(int seconds) {
            // Ignored: the driver's timeout is fixed.
        }
    }
}
