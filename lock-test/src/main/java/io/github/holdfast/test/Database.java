package io.github.holdfast.test;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.ResultSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A database of its own on one of the servers: empty at first, gone after {@link #close()}.
 *
 * <p>Its user is an ordinary one that owns this database and nothing else (on H2 there is only the administrator). Failing
 * statements throw {@link IllegalStateException} with the {@link java.sql.SQLException} as cause. Thread-safe.
 */
public final class Database implements AutoCloseable {

    private final DatabaseServer server;
    private final String name;
    private final DataSource dataSource;
    private final List<HikariDataSource> pools = new CopyOnWriteArrayList<>();
    private boolean closed;

    Database(DatabaseServer server, String name) {
        this.server = server;
        this.name = name;
        this.dataSource = server.kind().dataSource(url(), user(), password());
    }

    /**
     * The kind of this database.
     *
     * @return the kind
     */
    public TestDatabase kind() {
        return server.kind();
    }

    /**
     * The JDBC URL, plain, as an ordinary user would write it.
     *
     * @return the URL without user and password
     */
    public String url() {
        return server.url(name);
    }

    /**
     * The user that owns this database.
     *
     * @return the name of the user
     */
    public String user() {
        return server.user();
    }

    /**
     * The password of {@link #user()}.
     *
     * @return the password, perhaps empty
     */
    public String password() {
        return server.password();
    }

    /**
     * The version of the server.
     *
     * @return for instance {@code "18.6"}
     */
    public String version() {
        return server.version();
    }

    /**
     * A data source without a pool.
     *
     * @return a data source whose every {@code getConnection()} opens a new connection
     */
    public DataSource dataSource() {
        return dataSource;
    }

    /**
     * Opens a pool on this database.
     *
     * @param customizer changes the configuration, which holds only the URL, user and password, before the pool starts; it may
     *     set a {@code dataSource} instead
     * @return the pool; the caller closes it, and {@link #close()} closes what was forgotten
     */
    public HikariDataSource pool(Consumer<HikariConfig> customizer) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url());
        config.setUsername(user());
        config.setPassword(password());
        customizer.accept(config);
        HikariDataSource pool = new HikariDataSource(config);
        pools.add(pool);
        return pool;
    }

    /**
     * Executes statements as {@link #user()}.
     *
     * @param statements the statements, each executed on a fresh autocommit connection
     */
    public void execute(String... statements) {
        Sql.execute(dataSource, statements);
    }

    /**
     * Executes a script as {@link #user()}.
     *
     * @param sql statements, each ended by a semicolon at the end of a line; lines that start with {@code --} are left out
     */
    public void executeScript(String sql) {
        String withoutComments =
                sql.lines().filter(line -> !line.strip().startsWith("--")).collect(Collectors.joining("\n"));
        execute(Stream.of(withoutComments.split(";[ \\t]*(\\n|$)"))
                .filter(statement -> !statement.isBlank())
                .toArray(String[]::new));
    }

    /**
     * Executes statements as the administrator of the server, for what an ordinary user must not do.
     *
     * @param statements the statements, each executed on a fresh autocommit connection to this database
     */
    public void administer(String... statements) {
        server.administer(name, statements);
    }

    /**
     * The first column of the first row of a query.
     *
     * @param sql the query
     * @return the value as a string, null if it is null in the database
     * @throws IllegalStateException if there is no row
     */
    public @Nullable String queryForString(String sql) {
        return first(sql, row -> row.getString(1));
    }

    /**
     * The first column of the first row of a query.
     *
     * @param sql the query
     * @return the value as a number, 0 if it is null in the database
     * @throws IllegalStateException if there is no row
     */
    public long queryForLong(String sql) {
        return first(sql, row -> row.getLong(1));
    }

    /** Closes the pools that are still open and drops this database with all that is connected to it, as far as possible. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        pools.forEach(HikariDataSource::close);
        try {
            server.drop(name);
        } catch (IllegalStateException e) {
            // It ends with its server at the latest.
            System.err.println(this + " was not dropped: " + e.getMessage());
        }
    }

    private <T extends @Nullable Object> T first(String sql, Sql.Work<ResultSet, T> row) {
        List<T> rows = Sql.list(dataSource, sql, row);
        if (rows.isEmpty()) {
            throw new IllegalStateException("No row: " + sql);
        }
        return rows.get(0);
    }

    @Override
    public String toString() {
        return kind().label() + " " + version() + " " + name;
    }
}
