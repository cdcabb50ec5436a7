package io.github.holdfast.test;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Counts what is asked of another data source.
 *
 * <p>Under a pool, as its {@code dataSource}, {@link #connections()} are physical ones; around a pool they are borrowed ones.
 * What a driver sends on its own account (such as a switch of the isolation level) is not seen. Thread-safe.
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
     * @param real where the connections come from
     */
    public CountingDataSource(DataSource real) {
        super(real);
    }

    /**
     * How many statements were executed; a batch is one.
     *
     * @return the number of {@code execute...} calls, failed ones included
     */
    public synchronized int statements() {
        return sql.size();
    }

    /**
     * What was executed.
     *
     * @return the SQL of each counted statement in order, that of a batch of different statements joined by semicolons
     */
    public synchronized List<String> sql() {
        return List.copyOf(sql);
    }

    /**
     * How often {@code commit()} was called.
     *
     * @return the number of calls
     */
    public synchronized int commits() {
        return commits;
    }

    /**
     * How often {@code rollback()} was called.
     *
     * @return the number of calls, those to a savepoint included
     */
    public synchronized int rollbacks() {
        return rollbacks;
    }

    /**
     * How often {@code getConnection()} was called.
     *
     * @return the number of calls
     */
    public synchronized int connections() {
        return connections;
    }

    /**
     * How often {@code setAutoCommit} was called. It can cost a round trip.
     *
     * @return the number of calls
     */
    public synchronized int autoCommitSwitches() {
        return autoCommitSwitches;
    }

    /** Sets every number back to 0. */
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
