package io.github.holdfast.test;

import com.mysql.cj.jdbc.MysqlDataSource;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
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
                MysqlDataSource mysql = new PatientMysqlDataSource();
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

    /**
     * The driver has no login timeout of its own, but uses DriverManager's. A pool over a JDBC URL sets that to its connectionTimeout, for the
     * whole JVM, and a busy machine may need longer.
     */
    @SuppressWarnings("serial")
    private static final class PatientMysqlDataSource extends MysqlDataSource {

        @Override
        protected Connection getConnection(Properties properties) throws SQLException {
            long start = System.nanoTime();
            while (true) {
                try {
                    return super.getConnection(properties);
                } catch (SQLException failed) {
                    if (!isLoginTimeout(failed)
                            || System.nanoTime() - start > TimeUnit.SECONDS.toNanos(LOGIN_SECONDS)) {
                        throw failed;
                    }
                }
            }
        }

        private static boolean isLoginTimeout(Throwable failed) {
            return DriverManager.getLoginTimeout() > 0
                    && Stream.iterate(failed, Objects::nonNull, Throwable::getCause)
                            .anyMatch(cause -> cause instanceof SocketTimeoutException
                                    || (cause instanceof SocketException
                                            && String.valueOf(cause.getMessage())
                                                    .contains("exceeded defined timeout")));
        }
    }

    private static final class MariaDbLoginDataSource extends MariaDbDataSource {

        @Override
        public void setLoginTimeout(int seconds) {
            // Ignored: the driver's timeout is fixed.
        }
    }
}
