package io.github.holdfast.test.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A data source whose connections break at a chosen point, as if the network or the database failed.
 *
 * <p>Every execution of a statement and every {@code commit()}, on any connection, is a <em>step</em>, numbered from 1 since
 * {@link #arm}. At the chosen step, the {@link Fault} happens once. From then on, every call on that connection throws a {@link
 * java.sql.SQLNonTransientConnectionException} with SQLState {@code 08006}. There are exceptions: {@code close} and {@code
 * rollback} do nothing, {@code isValid} returns false, and {@code isClosed} returns true. The server rolls the connection's
 * transaction back. Put this data source under a pool, as its {@code dataSource}. The pool then replaces the broken connection.
 * Thread-safe.
 *
 * <pre>{@code
 * faulty.arm(2, Fault.ANSWER_LOST);
 * service.acquire("name");
 * assertThat(faulty.fired()).isTrue();
 * }</pre>
 */
public final class FaultyDataSource extends InterceptedDataSource {

    private final Set<FaultyConnection> connections = ConcurrentHashMap.newKeySet();
    private int steps;
    private int armedStep;
    private @Nullable Fault armed;

    /** The thread that takes the counted steps; null if all threads do. */
    private @Nullable Thread counted;

    private boolean fired;
    private boolean firedAtCommit;
    private boolean down;
    private @Nullable Connection delayed;

    /**
     * Wraps a data source. No connection is broken yet.
     *
     * @param real the source of the connections
     */
    public FaultyDataSource(DataSource real) {
        super(real);
    }

    /** What goes wrong at a step. */
    public enum Fault {
        /** The step is not executed; the call throws. */
        BEFORE_SEND,
        /**
         * The step is executed and answered. Then the connection breaks, before the next call. For a commit, this is the same as
         * {@link #ANSWER_LOST}: the call throws.
         */
        AFTER_SEND,
        /** The step is executed (a commit commits), but the call throws. */
        ANSWER_LOST,
        /**
         * The commit's call throws at once, but the server executes the commit only at {@link #land()}. The same holds for a
         * statement that commits by itself. For any other step, this is the same as {@link #BEFORE_SEND}.
         */
        DELAYED
    }

    /**
     * Chooses the step and the fault, and restarts the count of steps from 1.
     *
     * @param step the number of the step; to count only, choose an unreachable one, such as {@link Integer#MAX_VALUE}
     * @param fault the fault at that step
     */
    public synchronized void arm(int step, Fault fault) {
        steps = 0;
        fired = false;
        firedAtCommit = false;
        armedStep = step;
        armed = fault;
        counted = null;
    }

    /**
     * Does the same as {@link #arm}, but counts only the steps of the calling thread. A heartbeat, for example, takes none of them.
     *
     * @param step the number of the step
     * @param fault the fault at that step
     */
    public synchronized void armThisThread(int step, Fault fault) {
        arm(step, fault);
        counted = Thread.currentThread();
    }

    /** Lets all further steps pass. Broken connections stay broken. */
    public synchronized void disarm() {
        armed = null;
    }

    /**
     * Returns whether the fault has happened.
     *
     * @return true after the armed step
     */
    public synchronized boolean fired() {
        return fired;
    }

    /**
     * Returns whether the fault has happened at a {@code commit()}.
     *
     * @return true after the armed step, if that was a commit
     */
    public synchronized boolean firedAtCommit() {
        return firedAtCommit;
    }

    /**
     * Returns the number of steps.
     *
     * @return the number of steps since {@link #arm}, including the step of the fault
     */
    public synchronized int steps() {
        return steps;
    }

    /**
     * Lets the server execute the delayed commit.
     *
     * @throws SQLException if the server refuses
     * @throws IllegalStateException if no commit is delayed
     */
    public void land() throws SQLException {
        try (Connection connection = takeDelayed()) {
            connection.commit();
        }
    }

    /**
     * Rolls back instead of the delayed commit, as if the server had never received it.
     *
     * @throws SQLException if the rollback fails
     * @throws IllegalStateException if no commit is delayed
     */
    public void sink() throws SQLException {
        try (Connection connection = takeDelayed()) {
            connection.rollback();
        }
    }

    /**
     * Makes the database unreachable until {@link #up()} (SQLState {@code 08001}). All connections break, including those in use.
     */
    public void down() {
        List<FaultyConnection> broken;
        synchronized (this) {
            down = true;
            broken = List.copyOf(connections);
        }
        broken.forEach(FaultyConnection::cut);
    }

    /** Makes the database reachable again after {@link #down()}. Broken connections stay broken. */
    public synchronized void up() {
        down = false;
    }

    public synchronized boolean isDown() {
        return down;
    }

    /** Counts a step and returns its fault, if any. */
    synchronized @Nullable Fault step(InterceptedConnection.Call call) {
        if (counted != null && counted != Thread.currentThread()) {
            return null;
        }
        steps++;
        if (armed == null || steps != armedStep) {
            return null;
        }
        fired = true;
        firedAtCommit = call.isCommit();
        return armed;
    }

    synchronized void delay(Connection connection) {
        delayed = connection;
    }

    private synchronized Connection takeDelayed() {
        Connection connection = delayed;
        if (connection == null) {
            throw new IllegalStateException("No commit is delayed");
        }
        delayed = null;
        return connection;
    }

    void forget(FaultyConnection connection) {
        connections.remove(connection);
    }

    private synchronized void admit(@Nullable FaultyConnection connection) throws SQLException {
        if (down) {
            throw new SQLTransientConnectionException("The database is down", "08001");
        }
        if (connection != null) {
            connections.add(connection);
        }
    }

    @Override
    Connection connect(Connector connector) throws SQLException {
        admit(null);
        Connection real = connector.connect();
        try {
            FaultyConnection connection = new FaultyConnection(this, real);
            admit(connection);
            return connection.proxy();
        } catch (SQLException e) {
            real.close();
            throw e;
        }
    }
}
