package io.github.holdfast.repository.store;

import io.github.holdfast.repository.jdbc.PostgresDriver;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Tests whether a pooler moves a connection to sessions without its prepared statements. It repeats one statement that the driver
 * prepares on the server.
 *
 * <p>In session mode, a connection keeps its session, and the next connection in that session finds none of its prepared
 * statements. In other modes, connections soon exchange sessions. A session then contains the prepared statements of other
 * connections, under names that the driver also uses for other statements. A pooler that tracks prepared statements (PgBouncer
 * since 1.21) renames them.
 */
final class PreparedStatementProbe {

    enum Result {
        /** A session does not know the prepared statement, or confuses it with that of another connection. */
        LOST,
        /** The prepared statement keeps working. */
        KEPT,
        /** Inconclusive: no other connection has used the session so far. */
        OPEN
    }

    /**
     * The number of rounds. A busy pooler with several sessions may exchange them between connections only now and then.
     */
    private static final int ROUNDS = 20;

    private static final String INVALID_NAME = "26000";

    /**
     * The SQLStates for a name that is unknown, already in use, or stands for a statement with other parameters or without a
     * result.
     */
    private static final Set<String> SOMEBODY_ELSES = Set.of(INVALID_NAME, "42P05", "08P01", "02000");

    private final String mark = "holdfast " + UUID.randomUUID();

    /**
     * The query returns the id of its session, and whether the session has it prepared under a name of the driver.
     */
    private final String text = "select '" + mark + "', pg_backend_pid(), exists (select 1 from pg_prepared_statements"
            + " where position('" + mark + "' in statement) > 0 and left(name, 2) = 'S_')";

    /** The session of the previous execution. */
    private @Nullable Long sessionBefore;

    /**
     * Tries two connections at the same time. The result is never open. If both keep their sessions, each has its session to
     * itself.
     */
    Result onTwo(Connection one, Connection another) throws SQLException {
        Result result = inAutoCommit(another, () -> inAutoCommit(one, () -> execute(one, another)));
        return result == Result.OPEN ? Result.KEPT : result;
    }

    /** Tries the next of several connections. The result is open until one gets the session of the previous one. */
    Result onNext(Connection connection) throws SQLException {
        return inAutoCommit(connection, () -> {
            Seen seen = seenBy(connection);
            return sessionBefore != null && sessionBefore == seen.session() ? seen.result() : execute(connection, null);
        });
    }

    private interface Trial {
        Result run() throws SQLException;
    }

    /**
     * Runs a trial in autocommit mode. Each statement is then a transaction without a COMMIT, which the driver would prepare too.
     */
    private static Result inAutoCommit(Connection connection, Trial trial) throws SQLException {
        boolean before = connection.getAutoCommit();
        try {
            connection.setAutoCommit(true);
            return trial.run();
        } finally {
            connection.setAutoCommit(before);
        }
    }

    private Result execute(Connection one, @Nullable Connection another) throws SQLException {
        sessionBefore = null;
        try (PreparedStatement prepared = PostgresDriver.preparedAtOnce(one, text)) {
            for (int round = 0; round < ROUNDS; round++) {
                Seen own;
                try (ResultSet result = prepared.executeQuery()) {
                    own = seen(result);
                }
                // The driver has prepared the statement again in a session that did not know it. It cannot do that
                // within a transaction.
                if (sessionBefore != null && sessionBefore != own.session()) {
                    return own.result();
                }
                sessionBefore = own.session();
                if (another != null) {
                    Seen seen = seenBy(another);
                    if (seen.session() == own.session()) {
                        return seen.result();
                    }
                }
            }
            return Result.OPEN;
        } catch (SQLException failed) {
            if (SOMEBODY_ELSES.contains(String.valueOf(failed.getSQLState()))) {
                return Result.LOST;
            }
            throw failed;
        }
    }

    private record Seen(long session, boolean isPrepared) {

        /** The result after a query in another session than before, or in the same session on another connection. */
        Result result() {
            return isPrepared ? Result.LOST : Result.KEPT;
        }
    }

    private Seen seenBy(Connection another) throws SQLException {
        try (Statement statement = another.createStatement();
                ResultSet result = statement.executeQuery(text)) {
            return seen(result);
        }
    }

    private Seen seen(ResultSet result) throws SQLException {
        if (!result.next() || !mark.equals(result.getString(1))) {
            throw new SQLException("Another statement was executed", INVALID_NAME);
        }
        return new Seen(result.getLong(2), result.getBoolean(3));
    }
}
