package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.hibernate.SessionBuilder;
import org.hibernate.dialect.Dialect;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.resource.jdbc.spi.StatementInspector;
import org.jspecify.annotations.Nullable;

/** The statements of {@link LockRepository} that nearly every acquisition and release makes, each as a transaction of its own. Thread-safe. */
final class StandaloneStatements {

    private final LockStore store;
    private final SessionFactoryImplementor factory;
    private final OwnConnections connections;
    private final StatementLimit limit;
    private final UnaryOperator<String> inspector;
    private final UnaryOperator<String> inAutocommit;
    private final PreparedUpdate grant;
    private final PreparedUpdate grantWhereNodeIs;
    private final KnownPlaces nodes;
    private final PreparedUpdate release;
    private final PreparedUpdate recount;

    StandaloneStatements(LockStore store, SessionFactoryImplementor factory, @Nullable DataSource dataSource) {
        this.store = store;
        this.factory = factory;
        connections = OwnConnections.of(factory, dataSource);
        Dialect dialect = factory.getJdbcServices().getDialect();
        SqlClock clock = SqlClock.of(dialect).orElseThrow();
        limit = StatementLimit.of(dialect);
        inspector = inspector(factory.getSessionFactoryOptions().getStatementInspector());
        inAutocommit = sql -> clock.inAutocommit(inspector.apply(sql));
        grant = PreparedUpdate.of(factory, LockRepository.class, "grant", clock);
        grantWhereNodeIs = PreparedUpdate.of(factory, LockRepository.class, "grantWhereNodeIs", clock);
        nodes = new KnownPlaces(dialect);
        release = PreparedUpdate.of(factory, LockRepository.class, "release", clock);
        recount = PreparedUpdate.of(factory, LockRepository.class, "recount", clock);
    }

    /** The application's. What it does not change, it may answer with null. */
    private static UnaryOperator<String> inspector(@Nullable StatementInspector applications) {
        return sql -> {
            String inspected = applications == null ? null : applications.inspect(sql);
            return inspected == null ? sql : inspected;
        };
    }

    /**
     * See {@link LockRepository#grant}; the arguments are those of the query.
     *
     * @param nodeId one of the arguments
     */
    int grant(StandaloneLocks locks, @Nullable String nodeId, @Nullable Object... arguments) {
        return update(
                (connection, execution) -> {
                    try {
                        return grant(connection, execution, nodeId, arguments);
                    } catch (SQLException failed) {
                        // Another server may be behind the same URL now.
                        nodes.forget();
                        throw failed;
                    }
                },
                locks,
                arguments);
    }

    private int grant(
            Connection connection,
            PreparedUpdate.Execution execution,
            @Nullable String nodeId,
            @Nullable Object... arguments)
            throws SQLException {
        if (nodes.has(nodeId, connection)) {
            return grantWhereNodeIs.on(connection, inspector, execution, arguments);
        }
        int granted = grant.on(connection, inspector, execution, arguments);
        if (granted == 1 && nodeId != null) {
            nodes.add(nodeId, connection);
        }
        return granted;
    }

    /** Executes one of the updates. */
    private interface Update {
        int on(Connection connection, PreparedUpdate.Execution execution) throws SQLException;
    }

    /** See {@link LockRepository#release}; the arguments are those of the query. */
    int release(StandaloneLocks locks, @Nullable Object... arguments) {
        return update(release, locks, arguments);
    }

    /** See {@link LockRepository#recount}; the arguments are those of the query. */
    int recount(StandaloneLocks locks, @Nullable Object... arguments) {
        return update(recount, locks, arguments);
    }

    /**
     * Executes an update of a lock's row.
     *
     * @param locks for which it is executed, and which say how long it may take
     * @param arguments the first two are the lock's name and the version that the row has until it is written
     */
    int update(PreparedUpdate update, StandaloneLocks locks, @Nullable Object... arguments) {
        return update(
                (connection, execution) -> update.on(connection, inspector, execution, arguments), locks, arguments);
    }

    private int update(Update update, StandaloneLocks locks, @Nullable Object... arguments) {
        String name = (String) Objects.requireNonNull(arguments[0]);
        return connections.write(
                connection -> update.on(
                        connection, statement -> limit.execute(name, statement, locks.atMost(), locks.watch())),
                connection -> read(connection, name, locks.atMost())
                        .filter(seen -> Objects.equals(seen.row().version(), arguments[1]))
                        .isPresent(),
                locks.watch(),
                locks.atMost());
    }

    /** See {@link LockRepository#read}. */
    Optional<LockSnapshot> read(String name, Duration atMost) {
        return connections.read(connection -> read(connection, name, atMost));
    }

    private Optional<LockSnapshot> read(Connection connection, String name, Duration atMost) throws SQLException {
        try (Session session = session(connection)) {
            return store.with(session, atMost, locks -> locks.read(name));
        }
    }

    private Session session(Connection connection) throws SQLException {
        SessionBuilder session = factory.withOptions().connection(connection);
        return (connection.getAutoCommit() ? session.statementInspector(inAutocommit) : session).openSession();
    }
}
