package io.github.holdfast.test;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Breaks connections at a chosen point, as a network or a dying database would.
 *
 * <p>Every execution of a statement and every {@code commit()}, on any connection, is a <em>step</em>, numbered from 1 since
 * {@link #arm}. At the chosen step the {@link Fault} happens, once. From then on every call on that connection throws a
 * {@link java.sql.SQLNonTransientConnectionException} with SQLState {@code 08006}, except that {@code close} and
 * {@code rollback} do nothing, {@code isValid} is false and {@code isClosed} true; the server has rolled its transaction back.
 * Put it under a pool, as its {@code dataSource}: the pool then replaces the broken connection. Thread-safe.
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
    private boolean fired;
    private boolean firedAtCommit;
    private boolean down;
    private @Nullable Connection delayed;

    /**
     * Wraps a data source. Nothing is broken yet.
     *
     * @param real where the connections come from
     */
    public FaultyDataSource(DataSource real) {
        super(real);
    }

    /** What goes wrong at a step. */
    public enum Fault {
        /** The step is not executed; the call throws. */
        BEFORE_SEND,
        /**
         * The step is executed and answered, then the connection breaks, before anything else can be sent on it. A commit's
         * call throws: for it this is the same as {@link #ANSWER_LOST}.
         */
        AFTER_SEND,
        /** The step is executed (a commit commits), but the call throws. */
        ANSWER_LOST,
        /**
         * The commit's call throws at once, but the server gets to it only at {@link #land()}; so for a statement that commits by
         * itself. For any other this is the same as {@link #BEFORE_SEND}.
         */
        DELAYED
    }

    /**
     * Chooses the step and what happens there, and starts to count from 1 again.
     *
     * @param step the number of the step; one that never comes, such as {@link Integer#MAX_VALUE}, only counts
     * @param fault what happens
     */
    public synchronized void arm(int step, Fault fault) {
        steps = 0;
        fired = false;
        firedAtCommit = false;
        armedStep = step;
        armed = fault;
    }

    /** Lets all further steps pass. Connections that are broken already stay so. */
    public synchronized void disarm() {
        armed = null;
    }

    /**
     * Whether the fault has happened.
     *
     * @return true since the armed step
     */
    public synchronized boolean fired() {
        return fired;
    }

    /**
     * Whether the fault has happened, and the step was a {@code commit()}.
     *
     * @return true since the armed step, if it was one
     */
    public synchronized boolean firedAtCommit() {
        return firedAtCommit;
    }

    /**
     * How many steps there were.
     *
     * @return the number of steps since {@link #arm}, that of the fault included
     */
    public synchronized int steps() {
        return steps;
    }

    /**
     * The server executes the delayed commit.
     *
     * @throws SQLException if it refuses
     * @throws IllegalStateException if no commit is delayed
     */
    public void land() throws SQLException {
        try (Connection connection = takeDelayed()) {
            connection.commit();
        }
    }

    /**
     * The server never sees the delayed commit and rolls back.
     *
     * @throws SQLException if it cannot
     * @throws IllegalStateException if no commit is delayed
     */
    public void sink() throws SQLException {
        try (Connection connection = takeDelayed()) {
            connection.rollback();
        }
    }

    /** Until {@link #up()} nobody can connect (SQLState {@code 08001}); all connections break, also those in use. */
    public void down() {
        List<FaultyConnection> broken;
        synchronized (this) {
            down = true;
            broken = List.copyOf(connections);
        }
        broken.forEach(FaultyConnection::cut);
    }

    /** Ends what {@link #down()} began. Broken connections stay so. */
    public synchronized void up() {
        down = false;
    }

    /** Counts a step and says what goes wrong at it, if anything. */
    synchronized @Nullable Fault step(InterceptedConnection.Call call) {
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
