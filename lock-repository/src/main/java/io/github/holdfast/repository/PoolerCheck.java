package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.UUID;
import org.hibernate.Session;

/**
 * Whether a pooler between the application and PostgreSQL, such as PgBouncer, loses what the driver has prepared on the server.
 *
 * <p>In transaction mode a connection's next transaction may have another session of the server. The driver prepares a statement there
 * once, COMMIT and ROLLBACK when they are executed for the first time, and then executes it by its name: {@code S_1} and so on, on
 * every connection. The other session does not know the name (26000), refuses to give it twice (42P05), or executes what somebody else
 * has given it to: a ROLLBACK in place of a COMMIT, whose answer the driver takes for that of the COMMIT.
 */
final class PoolerCheck {

    /** With several sessions, a busy pooler may give one connection the session that another one had only now and then. */
    private static final int ROUNDS = 20;

    /** The name is not known, is in use, or stands for a statement with other parameters, or without a result. */
    private static final Set<String> SOMEBODY_ELSES = Set.of("26000", "42P05", "08P01", "02000");

    private static final String WHAT_TO_DO =
            "Add prepareThreshold=0 to the JDBC URL of every data source that goes through it, or use its session mode, or a data"
                    + " source that leads to PostgreSQL directly";

    private final Connection one;
    private final Connection another;
    private final String text = "select pg_backend_pid() /* holdfast " + UUID.randomUUID() + " */";

    private PoolerCheck(Connection one, Connection another) {
        this.one = one;
        this.another = another;
    }

    /**
     * Tries it out. One statement where there is no pooler, or nothing is prepared on the server; otherwise up to forty more on
     * two connections.
     *
     * @param unit whose sessions have the connections
     * @throws IllegalStateException if prepared statements are lost, or there is a pooler and no second connection to try it with
     * @throws PersistenceException if the database failed
     */
    static void on(EntityManagerFactory unit) {
        try (Session first = session(unit)) {
            if (first.doReturningWork(PostgresDriver::preparesBehindPooler)) {
                first.doWork(one -> with(one, unit));
            }
        }
    }

    private static void with(Connection one, EntityManagerFactory unit) throws SQLException {
        boolean areLost;
        try (Session second = session(unit)) {
            areLost = second.doReturningWork(another -> new PoolerCheck(one, another).areLost());
        } catch (PersistenceException noConnection) {
            if (SqlErrors.ofBegin(noConnection) != Failure.EXHAUSTED) {
                throw noConnection;
            }
            throw new IllegalStateException(
                    "There is a pooler between the application and PostgreSQL, and the driver prepares statements on the server."
                            + " Whether they get lost could not be tried for want of a second connection. "
                            + WHAT_TO_DO,
                    noConnection);
        }
        if (areLost) {
            throw new IllegalStateException(
                    "A pooler gives each transaction another session of PostgreSQL (PgBouncer in transaction mode), but the driver"
                            + " prepares statements in sessions: it would not find them there, or execute others in their place,"
                            + " and commits would be lost. " + WHAT_TO_DO);
        }
    }

    private static Session session(EntityManagerFactory unit) {
        return unit.createEntityManager().unwrap(Session.class);
    }

    private boolean areLost() throws SQLException {
        boolean oneCommits = one.getAutoCommit();
        boolean anotherCommits = another.getAutoCommit();
        try {
            // Each statement is a transaction then, without a COMMIT, which would be prepared too.
            one.setAutoCommit(true);
            another.setAutoCommit(true);
            return isPreparedStatementLost();
        } finally {
            one.setAutoCommit(oneCommits);
            another.setAutoCommit(anotherCommits);
        }
    }

    /**
     * In session mode, both connections keep their sessions. Otherwise one of them soon has the session that the other one had a
     * moment ago, and finds there what that has prepared, or finds its own statement elsewhere. A pooler that keeps account of
     * prepared statements (PgBouncer since 1.21) gives them names of its own.
     */
    private boolean isPreparedStatementLost() throws SQLException {
        try (PreparedStatement prepared = PostgresDriver.preparedAtOnce(one, text)) {
            Long before = null;
            for (int round = 0; round < ROUNDS; round++) {
                long session = sessionOf(prepared);
                Seen seen = seenByAnother();
                if (seen.session() == session) {
                    return seen.isPrepared();
                }
                if (before != null && before != session) {
                    return false;
                }
                before = session;
            }
            return false;
        } catch (SQLException failed) {
            if (SOMEBODY_ELSES.contains(String.valueOf(failed.getSQLState()))) {
                return true;
            }
            throw failed;
        }
    }

    private static long sessionOf(PreparedStatement prepared) throws SQLException {
        try (ResultSet result = prepared.executeQuery()) {
            result.next();
            return result.getLong(1);
        }
    }

    private record Seen(long session, boolean isPrepared) {}

    private Seen seenByAnother() throws SQLException {
        String query = "select pg_backend_pid(), exists (select 1 from pg_prepared_statements where statement = '"
                + text + "' and name like 'S\\_%')";
        try (Statement statement = another.createStatement();
                ResultSet result = statement.executeQuery(query)) {
            result.next();
            return new Seen(result.getLong(1), result.getBoolean(2));
        }
    }
}
