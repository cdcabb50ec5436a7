package io.github.holdfast.service;

import io.github.holdfast.test.Database;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;

/** Rows written and read by plain SQL: some of what takes days, or a dead process, to come about by itself. */
final class TestRows {

    private static final int ROWS_PER_STATEMENT = 500;

    private final Database database;
    private final JdbcTemplate jdbc;

    private TestRows(Database database) {
        this.database = database;
        this.jdbc = new JdbcTemplate(database.pool(config -> config.setMaximumPoolSize(1)));
    }

    static TestRows of(Database database) {
        return new TestRows(database);
    }

    /** The row of a lock, without its instants. */
    record Row(
            @Nullable String owner,
            @Nullable String nodeId,
            @Nullable String holder,
            int holdCount,
            long token,
            long version) {}

    /** A session that has the row of a lock locked, until it ends its transaction. */
    Connection locking(String name) throws SQLException {
        Connection connection = database.dataSource().getConnection();
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("select name from distributed_lock where name = '" + name + "' for update");
        }
        return connection;
    }

    /** The row of a lock; fails if there is none. */
    Row row(String name) {
        Row row = jdbc.queryForObject(
                "select owner, node_id, holder, hold_count, fencing_token, version from distributed_lock where name = ?",
                (result, number) -> new Row(
                        result.getString(1),
                        result.getString(2),
                        result.getString(3),
                        result.getInt(4),
                        result.getLong(5),
                        result.getLong(6)),
                name);
        if (row == null) {
            throw new AssertionError("No row: " + name);
        }
        return row;
    }

    /** The names of all locks, in order, without those of housekeeping. */
    List<String> names() {
        return jdbc.queryForList(
                "select name from distributed_lock where name not like ? order by name",
                String.class,
                Housekeeping.LOCK_NAME + "%");
    }

    /** The ids of all nodes, in order. */
    List<String> nodes() {
        return jdbc.queryForList("select id from lock_node order by id", String.class);
    }

    /** Locks that were free for some time. */
    void free(Duration idle, List<String> names) {
        insertLocks(names, name -> "null, null, 0, " + ago(idle) + ", null");
    }

    void free(Duration idle, String... names) {
        free(idle, List.of(names));
    }

    /** A lock that was free for some time, and may be granted some time ago (or from now, if that is negative). */
    void freeAndAvailable(Duration idle, Duration availableSince, String name) {
        insertLocks(List.of(name), free -> "null, null, 0, " + ago(idle) + ", " + ago(availableSince));
    }

    /** A lock whose lease was over some time ago (or is over some time from now, if that is negative). */
    void leased(Duration over, String name) {
        insertLocks(List.of(name), free -> "'somebody', null, 1, " + ago(over) + ", null");
    }

    /** Locks that are held through a node. */
    void heldThrough(String node, List<String> names) {
        insertLocks(names, name -> "'somebody', '" + node + "', 1, null, null");
    }

    void heldThrough(String node, String... names) {
        heldThrough(node, List.of(names));
    }

    private void insertLocks(List<String> names, Function<String, String> state) {
        String token = micros(ago(Duration.ofDays(8)));
        for (int from = 0; from < names.size(); from += ROWS_PER_STATEMENT) {
            String rows = names.subList(from, Math.min(from + ROWS_PER_STATEMENT, names.size())).stream()
                    .map(name -> "('%s', %s, %s, %s, %s)"
                            .formatted(name, state.apply(name), ago(Duration.ofDays(8)), token, token))
                    .collect(Collectors.joining(", "));
            database.execute("insert into distributed_lock (name, owner, node_id, hold_count, expires_at, available_at,"
                    + " acquired_at, fencing_token, version) values " + rows);
        }
    }

    /** A node whose lease was over some time ago (or is over some time from now, if that is negative). */
    void node(String id, boolean ended, Duration over) {
        nodes(List.of(id), ended, over);
    }

    void nodes(List<String> ids, boolean ended, Duration over) {
        String state = "%s, %s, %s, 'a test', 7".formatted(ago(Duration.ofDays(9)), ago(over), bool(ended));
        database.execute("insert into lock_node (id, started_at, expires_at, ended, description, version) values "
                + ids.stream().map(id -> "('" + id + "', " + state + ")").collect(Collectors.joining(", ")));
    }

    private String bool(boolean value) {
        return switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP, POSTGRESQL -> String.valueOf(value);
            case MARIADB, MYSQL -> value ? "b'1'" : "b'0'";
        };
    }

    /** Lets a free lock be as it will be some days from now if nobody uses it; time changes no version. */
    String sqlToAge(String name, int days) {
        return "update distributed_lock set expires_at = expires_at - interval '" + days + "' day where name = '" + name
                + "' and owner is null";
    }

    /** The last grant of a lock, in microseconds since 1970. */
    long acquiredAtMicros(String name) {
        return database.queryForLong(
                "select " + micros("acquired_at") + " from distributed_lock where name = '" + name + "'");
    }

    /** When the lease of a lock is over, or when it was given back, in microseconds since 1970. */
    long expiresAtMicros(String name) {
        return database.queryForLong(
                "select " + micros("expires_at") + " from distributed_lock where name = '" + name + "'");
    }

    private String micros(String instant) {
        return switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP, POSTGRESQL ->
                "cast(extract(epoch from " + instant + ") * 1000000 as bigint)";
            case MARIADB, MYSQL -> "timestampdiff(microsecond, '1970-01-01', " + instant + ")";
        };
    }

    private String ago(Duration time) {
        String now = switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "current_timestamp(6)";
            case POSTGRESQL -> "clock_timestamp()";
            case MARIADB, MYSQL -> "utc_timestamp(6)";
        };
        return "(" + now + " - interval '" + time.toSeconds() + "' second)";
    }
}
