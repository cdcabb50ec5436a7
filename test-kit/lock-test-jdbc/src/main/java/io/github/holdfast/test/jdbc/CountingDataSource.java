package io.github.holdfast.test.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A data source that counts the calls on another data source.
 *
 * <p>Under a pool, as its {@code dataSource}, {@link #connections()} counts physical connections. Around a pool, it counts
 * borrowed connections. It does not count statements that a driver sends by itself, such as a switch of the isolation level.
 * Thread-safe.
 *
 * <pre>{@code
 * CountingDataSource counting = new CountingDataSource(database.dataSource());
 * service.acquire("name");
 * assertThat(counting.statements()).isEqualTo(1);
 * }</pre>
 */
public final class CountingDataSource extends InterceptedDataSource {

    private final List<String> sql = new ArrayList<>();
    private int connections;
    private int commits;
    private int rollbacks;
    private int autoCommitSwitches;

    /**
     * Wraps a data source.
     *
     * @param real the source of the connections
     */
    public CountingDataSource(DataSource real) {
        super(real);
    }

    /**
     * Returns the number of executed statements; a batch counts as one.
     *
     * @return the number of {@code execute...} calls, failed ones included
     */
    public synchronized int statements() {
        return sql.size();
    }

    /**
     * Returns the SQL of the executed statements.
     *
     * @return the SQL of each counted statement, in order; semicolons join the statements of a batch
     */
    public synchronized List<String> sql() {
        return List.copyOf(sql);
    }

    /**
     * Returns how often {@code commit()} was called.
     *
     * @return the number of calls
     */
    public synchronized int commits() {
        return commits;
    }

    /**
     * Returns how often {@code rollback()} was called.
     *
     * @return the number of calls, including those to a savepoint
     */
    public synchronized int rollbacks() {
        return rollbacks;
    }

    /**
     * Returns how often {@code getConnection()} was called.
     *
     * @return the number of calls
     */
    public synchronized int connections() {
        return connections;
    }

    /**
     * Returns how often {@code setAutoCommit} was called. Such a call can cost a round trip.
     *
     * @return the number of calls
     */
    public synchronized int autoCommitSwitches() {
        return autoCommitSwitches;
    }

    /** Resets all counters to 0. */
    public synchronized void reset() {
        sql.clear();
        connections = 0;
        commits = 0;
        rollbacks = 0;
        autoCommitSwitches = 0;
    }

    private synchronized void count(InterceptedConnection.Call call) {
        if (call.isExecution()) {
            sql.add(call.sql());
        }
        switch (call.name()) {
            case "commit" -> commits++;
            case "rollback" -> rollbacks++;
            case "setAutoCommit" -> autoCommitSwitches++;
            default -> {}
        }
    }

    @Override
    Connection connect(Connector connector) throws SQLException {
        synchronized (this) {
            connections++;
        }
        InterceptedConnection connection = new InterceptedConnection(connector.connect()) {
            @Override
            @Nullable
            Object intercept(Call call) throws Throwable {
                count(call);
                return call.proceed();
            }
        };
        return connection.proxy();
    }
}
