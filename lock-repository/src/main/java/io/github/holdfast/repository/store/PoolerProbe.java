package io.github.holdfast.repository.store;

import io.github.holdfast.repository.DatabaseSetupException;
import io.github.holdfast.repository.DatabaseSetupException.Problem;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.jdbc.HikariPools;
import io.github.holdfast.repository.jdbc.PostgresDriver;
import io.github.holdfast.repository.store.PreparedStatementProbe.Result;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks whether a pooler between the application and PostgreSQL, such as PgBouncer, loses the driver's prepared statements.
 *
 * <p>In transaction mode, each transaction of a connection may run in another session of the server. The driver prepares a
 * statement once, and then executes it by a name. It prepares COMMIT and ROLLBACK at their first execution. The names are {@code
 * S_1} and so on, on every connection. In another session, the name may be unknown (26000), already assigned (42P05), or stand
 * for another connection's statement. That statement may be a ROLLBACK in place of a COMMIT, and the driver would take the answer
 * for that of the COMMIT.
 */
final class PoolerProbe {

    private static final Logger LOG = LoggerFactory.getLogger(PoolerProbe.class);

    /** How many connections to try one after the other. A busy pooler may give the session of one to another client first. */
    private static final int IN_TURN = 4;

    private static final String WHAT_TO_DO =
            "Add prepareThreshold=0 to the JDBC URL of every data source that uses the pooler, or set the pooler to"
                    + " session mode, or connect to PostgreSQL directly";

    private final EntityManagerFactory unit;
    private final @Nullable DataSource pool;
    private final PreparedStatementProbe trial = new PreparedStatementProbe();

    private PoolerProbe(EntityManagerFactory unit, @Nullable DataSource pool) {
        this.unit = unit;
        this.pool = pool;
    }

    /**
     * Runs the check. It takes one statement if there is no pooler, or if the driver prepares nothing on the server. Otherwise it
     * takes up to forty more on two connections. If the pool has only one connection, it takes up to 84 on four connections that
     * HikariCP opens one after the other. Another pool would return the first connection again. The check then stays mostly
     * inconclusive, and logs a warning.
     *
     * @param unit the persistence unit whose sessions use the connections
     * @param pool the source of the connections, if known
     * @throws DatabaseSetupException if prepared statements are lost
     * @throws PersistenceException if the database failed
     */
    static void on(EntityManagerFactory unit, @Nullable DataSource pool) {
        new PoolerProbe(unit, pool).run();
    }

    private void run() {
        Result result = Result.KEPT;
        try (Session first = session()) {
            if (first.doReturningWork(PostgresDriver::preparesBehindPooler)) {
                result = first.doReturningWork(this::onTwo);
            }
        }
        if (result == Result.OPEN) {
            result = inTurn();
        }
        if (result == Result.LOST) {
            throw new DatabaseSetupException(
                    Problem.POOLER,
                    "A pooler runs each transaction in another session of PostgreSQL (as PgBouncer does in transaction"
                            + " mode), but a prepared statement belongs to one session. The driver would not find its"
                            + " statements, or would execute others in their place, and commits would be lost. "
                            + WHAT_TO_DO,
                    null);
        }
    }

    /** Tries two connections. The result is open if there is no second one. */
    private Result onTwo(Connection one) throws SQLException {
        if (pool != null && HikariPools.isSmallerThan(2, pool)) {
            return Result.OPEN;
        }
        try (Session second = session()) {
            return second.doReturningWork(another -> trial.onTwo(one, another));
        } catch (PersistenceException noConnection) {
            if (SqlErrors.ofBegin(noConnection) != Failure.EXHAUSTED) {
                throw noConnection;
            }
            return Result.OPEN;
        }
    }

    /**
     * Tries one connection after the other, and evicts each from its pool. Only the next connection shows whether the pooler
     * passes the session on unchanged.
     */
    private Result inTurn() {
        for (int turn = 1; turn <= IN_TURN; turn++) {
            try (Session session = session()) {
                Result result = session.doReturningWork(trial::onNext);
                if (result != Result.OPEN) {
                    return result;
                }
                if (turn < IN_TURN && !session.doReturningWork(this::replace)) {
                    LOG.warn(
                            "A pooler stands between the application and PostgreSQL, and the driver prepares statements"
                                    + " on the server. Without a second connection, Holdfast cannot test whether they"
                                    + " get lost. If the pooler is not in session mode, commits will be lost. {}",
                            WHAT_TO_DO);
                    return Result.OPEN;
                }
            }
        }
        return Result.KEPT;
    }

    private boolean replace(Connection connection) throws SQLException {
        return pool != null && HikariPools.evict(pool, connection);
    }

    private Session session() {
        return unit.createEntityManager().unwrap(Session.class);
    }
}
