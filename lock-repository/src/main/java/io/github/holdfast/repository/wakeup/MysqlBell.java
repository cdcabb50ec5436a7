package io.github.holdfast.repository.wakeup;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A bell of one connection to MySQL or MariaDB. It is a lock of {@code GET_LOCK}, which the connection owns until it ends. The
 * connection sleeps, until another connection kills its query with the name of the bell
 * (https://dev.mysql.com/doc/refman/8.0/en/locking-functions.html). Not thread-safe.
 */
final class MysqlBell {

    /** The number of no bell. */
    static final long NONE = 0;

    /** Shorter than the default of {@code long_query_time}, so that no sleep is logged as a slow query. */
    static final String SLEEP_SECONDS = "5";

    /** A statement without an answer for this long shows that the connection is dead. */
    private static final int ANSWER_MILLIS = 15_000;

    /** Releases of a contended lock follow one another within milliseconds, so most rings that follow come within this time. */
    private static final String SHORT_SLEEP_SECONDS = "0.05";

    private static final int PROOFS = 100;

    /** MariaDB reports a killed query as an error. MySQL's {@code SLEEP} returns 1. */
    private static final int QUERY_INTERRUPTED = 1317;

    /** The server limits the time of queries, to less than the sleep. */
    private static final Set<Integer> TOO_LONG = Set.of(1969, 3024);

    private static final int NOT_OWNER = 1095;

    /** No connection owns the bell: the service has stopped listening. */
    private static final int NO_SUCH_THREAD = 1094;

    private final Connection connection;
    private final long number;

    /**
     * Creates a bell, which is not in use yet.
     *
     * @param connection used for nothing else until it is closed
     */
    MysqlBell(Connection connection) {
        this.connection = connection;
        this.number = UUID.randomUUID().getLeastSignificantBits() >>> 1;
    }

    /** Returns the number of the bell. It is positive, and no other bell has it. */
    long number() {
        return number;
    }

    private static String name(long number) {
        return "'holdfast:" + number + "'";
    }

    /**
     * Rings a bell through another connection. One statement; nothing happens if no connection owns the bell.
     *
     * @return false if the bell belongs to a session of another user
     */
    static boolean ring(Connection connection, long number) throws SQLException {
        try (Statement kill = connection.createStatement()) {
            kill.execute("kill query is_used_lock(" + name(number) + ")");
        } catch (SQLException failed) {
            if (failed.getErrorCode() == NOT_OWNER) {
                return false;
            }
            if (failed.getErrorCode() != NO_SUCH_THREAD) {
                throw failed;
            }
        }
        return true;
    }

    /** Takes the bell into use. */
    void install() throws SQLException {
        connection.setAutoCommit(true);
        connection.setNetworkTimeout(Runnable::run, ANSWER_MILLIS);
        if (query("select get_lock(" + name(number) + ", 0)") != 1) {
            throw broken("The server did not grant the named lock of the bell", null);
        }
    }

    /**
     * Proves that rings arrive. They do not arrive if a proxy leads the two connections to different servers, or if the server of
     * this connection was replaced.
     *
     * @param ring rings the bell through another connection, on another thread
     * @param isOpen whether to go on
     * @throws SQLException if no ring arrives, or the connection broke
     */
    void prove(Runnable ring, BooleanSupplier isOpen) throws SQLException {
        // A ring before the sleep is lost, so one proof does not do.
        for (int proof = 0; proof < PROOFS && isOpen.getAsBoolean(); proof++) {
            ring.run();
            if (sleep("0.1")) {
                return;
            }
        }
        throw broken("No wake-up arrives, perhaps because of a proxy between several servers", null);
    }

    /**
     * Sleeps for some seconds, or until the bell is rung.
     *
     * @return whether it was rung
     * @throws SQLException if the connection broke
     */
    boolean sleepUntilRung() throws SQLException {
        return sleep(SLEEP_SECONDS);
    }

    /**
     * Does the same as {@link #sleepUntilRung}, but sleeps only for a moment. For the time after a ring: another one before this
     * sleep is lost.
     */
    boolean sleepBrieflyUntilRung() throws SQLException {
        return sleep(SHORT_SLEEP_SECONDS);
    }

    private boolean sleep(String seconds) throws SQLException {
        try {
            return query("select sleep(" + seconds + ")") == 1;
        } catch (SQLException failed) {
            if (TOO_LONG.contains(failed.getErrorCode())) {
                return false;
            }
            if (failed.getErrorCode() != QUERY_INTERRUPTED) {
                throw failed;
            }
            return true;
        }
    }

    private long query(String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            result.next();
            return result.getLong(1);
        }
    }

    /** Returns an exception that says that the connection is of no more use. */
    static SQLException broken(String why, @Nullable Throwable cause) {
        return new SQLException(why, "08006", cause);
    }
}
