package io.github.holdfast.test;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.sql.ResultSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A separate database on one of the servers. It is empty at first, and {@link #close()} drops it.
 *
 * <p>Its user is an ordinary user that owns only this database. On H2, the only user is the administrator. A failing statement
 * throws {@link IllegalStateException} with the {@link java.sql.SQLException} as cause. Thread-safe.
 */
public final class Database implements AutoCloseable {

    /** The beginning of a statement that changes nothing in its session. */
    private static final Pattern CHANGE = Pattern.compile("\\s*(insert|update|delete)\\s");

    private final DatabaseServer server;
    private final String name;
    private final DataSource dataSource;
    private final KeptConnections kept;
    private final List<HikariDataSource> pools = new CopyOnWriteArrayList<>();
    private boolean closed;

    /** Creates a database on a server. */
    Database(DatabaseServer server) {
        this.server = server;
        this.name = server.newDatabase();
        this.dataSource = DataSources.of(server.kind(), url(), user(), password());
        this.kept = new KeptConnections(dataSource, mostKept(server.kind()));
    }

    /** A connection inside this JVM would keep its database open, and costs little. */
    private static int mostKept(TestDatabase kind) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE -> 0;
            case H2_TCP, POSTGRESQL, MARIADB, MYSQL -> 2;
        };
    }

    /**
     * Creates a fresh, empty database. Starts the server first, if this JVM has not started it yet.
     *
     * @param kind the kind of server
     * @return the database; the caller closes it
     * @throws org.opentest4j.TestAbortedException if the server cannot start; with the environment variable {@code CI=true} it is
     *     an {@link IllegalStateException}, so that a build server cannot skip tests silently. The same JVM does not repeat a
     *     failed start
     */
    public static Database create(TestDatabase kind) {
        return new Database(Servers.of(kind));
    }

    /**
     * Returns the kind of this database.
     *
     * @return the kind
     */
    public TestDatabase kind() {
        return server.kind();
    }

    /**
     * Returns the plain JDBC URL, as an ordinary user would write it.
     *
     * @return the URL without user and password
     */
    public String url() {
        return server.url(name);
    }

    /**
     * Returns the user that owns this database.
     *
     * @return the name of the user
     */
    public String user() {
        return server.user();
    }

    /**
     * Returns the password of {@link #user()}.
     *
     * @return the password, perhaps empty
     */
    public String password() {
        return server.password();
    }

    /**
     * Returns the version of the server.
     *
     * @return for instance {@code "18.6"}
     */
    public String version() {
        return server.version();
    }

    /**
     * Returns a data source without a pool.
     *
     * @return a data source that opens a new connection for each {@code getConnection()}
     */
    public DataSource dataSource() {
        return dataSource;
    }

    /**
     * Opens a pool on this database.
     *
     * @param customizer changes the configuration before the pool starts. The configuration has the URL, user and password; you
     *     may set a {@code dataSource} instead. It has a {@code minimumIdle} of 1, because most tests need few connections, and
     *     PostgreSQL takes 20 ms to open one
     * @return the pool; the caller closes it, and {@link #close()} closes forgotten pools
     */
    public HikariDataSource pool(Consumer<HikariConfig> customizer) {
        return added(new HikariDataSource(config(customizer)));
    }

    /**
     * Opens a pool over a data source of this database that may be down for long. Its callers wait for the connection timeout only
     * while it is down. Otherwise they are patient, so a short timeout does not fail on a busy machine. The pool belongs to the
     * database and is closed with it.
     *
     * @param source what the pool connects to
     * @param faults what can be down; the source itself, or what is beneath it
     * @param customizer changes settings, such as the connection timeout
     * @return the pool
     */
    public HikariDataSource pool(DataSource source, FaultyDataSource faults, Consumer<HikariConfig> customizer) {
        Consumer<HikariConfig> overSource = config -> config.setDataSource(source);
        return added(new PatientPool(config(overSource.andThen(customizer)), faults));
    }

    private HikariConfig config(Consumer<HikariConfig> customizer) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url());
        config.setUsername(user());
        config.setPassword(password());
        config.setMinimumIdle(1);
        customizer.accept(config);
        return config;
    }

    private HikariDataSource added(HikariDataSource pool) {
        pools.add(pool);
        return pool;
    }

    /**
     * Executes statements as {@link #user()}.
     *
     * @param statements the statements, executed on an autocommit connection. It is a fresh one, unless all of them insert, update
     *     or delete
     */
    public void execute(String... statements) {
        if (Stream.of(statements)
                .allMatch(statement -> CHANGE.matcher(statement).lookingAt())) {
            kept.use(Sql.executing(statements));
        } else {
            Sql.execute(dataSource, statements);
        }
    }

    /**
     * Executes a script as {@link #user()}.
     *
     * @param sql statements; each ends with a semicolon at the end of a line. Lines that start with {@code --} are ignored
     */
    public void executeScript(String sql) {
        String withoutComments =
                sql.lines().filter(line -> !line.strip().startsWith("--")).collect(Collectors.joining("\n"));
        execute(Stream.of(withoutComments.split(";[ \\t]*(\\n|$)"))
                .filter(statement -> !statement.isBlank())
                .toArray(String[]::new));
    }

    /**
     * Executes statements as the administrator of the server, because an ordinary user lacks some privileges.
     *
     * @param statements the statements, executed on a fresh autocommit connection to this database
     */
    public void administer(String... statements) {
        server.administer(name, statements);
    }

    /**
     * Returns the first column of the first row of a query.
     *
     * @param sql the query
     * @return the value as a string, null if it is null in the database
     * @throws IllegalStateException if there is no row
     */
    public @Nullable String queryForString(String sql) {
        return first(sql, row -> row.getString(1));
    }

    /**
     * Returns the first column of the first row of a query.
     *
     * @param sql the query
     * @return the value as a number, 0 if it is null in the database
     * @throws IllegalStateException if there is no row
     */
    public long queryForLong(String sql) {
        return first(sql, row -> row.getLong(1));
    }

    /** Closes all open pools, and drops this database with all its connections, as far as possible. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        pools.forEach(HikariDataSource::close);
        kept.close();
        try {
            server.drop(name);
        } catch (IllegalStateException e) {
            // The database ends with its server at the latest.
            System.err.println(this + " was not dropped: " + e.getMessage());
        }
    }

    private <T extends @Nullable Object> T first(String sql, Sql.Work<ResultSet, T> row) {
        List<T> rows = kept.use(Sql.querying(sql, row));
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
