package io.github.holdfast.task;

import io.github.holdfast.test.Database;
import java.time.Duration;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.springframework.jdbc.core.JdbcTemplate;

/** Runs written and read by plain SQL. */
public final class TaskRows {

    private final Database database;
    private final JdbcTemplate jdbc;

    public TaskRows(Database database) {
        this.database = database;
        this.jdbc = new JdbcTemplate(database.pool(config -> config.setMaximumPoolSize(1)));
    }

    /** How many runs of a task are said to be running. */
    public long running(String name) {
        return longOf("select count(*) from lock_run where status = 'RUNNING' and name = ?", name);
    }

    public long token(String name) {
        return longOf("select fencing_token from distributed_lock where name = ?", name);
    }

    /** The last grant of a lock, in microseconds since 1970. */
    public long acquiredAtMicros(String name) {
        return longOf("select " + micros("acquired_at") + " from distributed_lock where name = ?", name);
    }

    /** When the only run of a task has begun, in microseconds since 1970. */
    public long begunAtMicros(String name) {
        return longOf("select " + micros("begun_at") + " from lock_run where name = ?", name);
    }

    /** The database's clock, in microseconds since 1970. */
    public long nowMicros() {
        return database.queryForLong("select " + micros(now()));
    }

    private long longOf(String query, String name) {
        Long value = jdbc.queryForObject(query, Long.class, name);
        if (value == null) {
            throw new AssertionError(query + ": " + name);
        }
        return value;
    }

    /** Lets all runs of a task have begun at another time, as if the clock had been set in between. */
    public void move(String name, Duration time) {
        jdbc.update(
                "update lock_run set begun_at = begun_at + interval '" + time.toSeconds() + "' second where name = ?",
                name);
    }

    /** Runs with the tokens 1 to {@code count} that all succeeded some time ago. */
    public void ended(String name, Duration ago, int count) {
        String at = "(" + now() + " - interval '" + ago.toSeconds() + "' second)";
        database.execute("insert into lock_run (name, fencing_token, begun_at, ended_at, status) values "
                + IntStream.rangeClosed(1, count)
                        .mapToObj(token -> "('%s', %d, %s, %s, 'SUCCEEDED')".formatted(name, token, at, at))
                        .collect(Collectors.joining(", ")));
    }

    private String now() {
        return switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "current_timestamp(6)";
            case POSTGRESQL -> "clock_timestamp()";
            case MARIADB, MYSQL -> "utc_timestamp(6)";
        };
    }

    private String micros(String instant) {
        return switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP, POSTGRESQL ->
                "cast(extract(epoch from " + instant + ") * 1000000 as bigint)";
            case MARIADB, MYSQL -> "timestampdiff(microsecond, '1970-01-01', " + instant + ")";
        };
    }
}
