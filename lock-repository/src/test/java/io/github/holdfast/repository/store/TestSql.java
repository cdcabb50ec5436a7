package io.github.holdfast.repository.store;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** What the databases say differently. Nothing here uses the code under test. */
public final class TestSql {

    /** The clock, in microseconds since 1970. */
    static String clockMicros(TestDatabase kind) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "select cast(extract(epoch from current_timestamp) * 1000000 as bigint)";
            case POSTGRESQL -> "select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)";
            case MARIADB, MYSQL -> "select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))";
        };
    }

    public static Instant clock(Database database) {
        return Instant.EPOCH.plus(database.queryForLong(clockMicros(database.kind())), ChronoUnit.MICROS);
    }

    /** What a column of the row of the name says in UTC, as the text of an {@link Instant}. */
    public static String instant(TestDatabase kind, String column, String name) {
        String text = switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP ->
                "formatdatetime(" + column + ", 'yyyy-MM-dd''T''HH:mm:ss.SSSSSS''Z''', 'en', 'UTC')";
            case POSTGRESQL -> "to_char(" + column + " at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";
            case MARIADB, MYSQL -> "date_format(" + column + ", '%Y-%m-%dT%H:%i:%s.%fZ')";
        };
        return "select " + text + " from distributed_lock where name = '" + name + "'";
    }

    public static String lockRow(String name) {
        return "select name from distributed_lock where name = '" + name + "' for update";
    }

    /** A write that changes the version only, as another node's would. */
    public static String touch(String name) {
        return "update distributed_lock set version = version + 1 where name = '" + name + "'";
    }

    /** For a session: how long a statement waits for a row; whole seconds on MariaDB and MySQL. */
    public static String waitForRowsAtMost(TestDatabase kind, Duration atMost) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "set lock_timeout " + atMost.toMillis();
            case POSTGRESQL -> "set lock_timeout = " + atMost.toMillis();
            case MARIADB, MYSQL -> "set session innodb_lock_wait_timeout = " + atMost.toSeconds();
        };
    }

    /** For a session: how long a statement may take, by the server's own setting; MySQL limits only queries. */
    static String statementTakesAtMost(TestDatabase kind, Duration atMost) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "set query_timeout " + atMost.toMillis();
            case POSTGRESQL -> "set statement_timeout = " + atMost.toMillis();
            case MARIADB -> "set session max_statement_time = " + atMost.toMillis() / 1000.0;
            case MYSQL -> "set session max_execution_time = " + atMost.toMillis();
        };
    }

    /** For a session: its time zone, as an offset from UTC. */
    public static String zone(TestDatabase kind, String offset) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "set time zone '" + offset + "'";
            // Not the bare offset: its sign would be that of POSIX, which is the other way round.
            case POSTGRESQL -> "set time zone interval '" + offset + "' hour to minute";
            case MARIADB, MYSQL -> "set time_zone = '" + offset + "'";
        };
    }

    /** For a session: its number, with which others can end it. */
    static String sessionId(TestDatabase kind) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "select session_id()";
            case POSTGRESQL -> "select pg_backend_pid()";
            case MARIADB, MYSQL -> "select connection_id()";
        };
    }

    /** Counts one if a session waits for a row that another transaction has locked; on MariaDB and MySQL, if it updates. */
    static String waitsForRow(TestDatabase kind, Object session) {
        return "select count(*) from "
                + switch (kind) {
                    case H2_MEMORY, H2_FILE, H2_TCP ->
                        "information_schema.sessions where blocker_id is not null and session_id = ";
                    case POSTGRESQL -> "pg_stat_activity where wait_event_type = 'Lock' and pid = ";
                    case MARIADB, MYSQL -> "information_schema.processlist where state = 'updating' and id = ";
                }
                + session;
    }

    /** Cancels what a session is doing. */
    static String cancelStatement(TestDatabase kind, Object session) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "call cancel_session(" + session + ")";
            case POSTGRESQL -> "select pg_cancel_backend(" + session + ")";
            case MARIADB, MYSQL -> "kill query " + session;
        };
    }

    /** Ends a session. */
    static String endSession(TestDatabase kind, Object session) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "call abort_session(" + session + ")";
            case POSTGRESQL -> "select pg_terminate_backend(" + session + ")";
            case MARIADB, MYSQL -> "kill " + session;
        };
    }

    /** Gives the column of the names another type. */
    static String typeOfNames(TestDatabase kind, String type) {
        return switch (kind) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "alter table distributed_lock alter column name " + type + " not null";
            case POSTGRESQL -> "alter table distributed_lock alter column name type " + type;
            case MARIADB, MYSQL -> "alter table distributed_lock modify name " + type + " not null";
        };
    }

    /** How the database names the error that is among the causes: by SQLState on PostgreSQL, by a number elsewhere. */
    static String code(TestDatabase kind, Throwable thrown) {
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException found) {
                return kind == TestDatabase.POSTGRESQL
                        ? String.valueOf(found.getSQLState())
                        : String.valueOf(found.getErrorCode());
            }
        }
        throw new AssertionError("Not from a database", thrown);
    }

    private TestSql() {}
}
