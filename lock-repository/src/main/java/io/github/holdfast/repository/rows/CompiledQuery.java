package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.jdbc.AutocommitExecutor;
import io.github.holdfast.repository.jdbc.AutocommitExecutor.Statement;
import io.github.holdfast.repository.jdbc.CompiledSql;
import io.github.holdfast.repository.jdbc.StatementTimeout;
import java.lang.reflect.Method;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;

/**
 * A query of a repository, as {@link CompiledSql}. An execution needs no session of Hibernate. Thread-safe.
 *
 * @param <T> the type of a result
 */
final class CompiledQuery<T> {

    private final Row<T> row;
    private final UnaryOperator<String> inspector;
    private final List<Integer> markers;
    private final String inTransaction;
    private final String inAutocommit;

    /** Reads the current row of a result. */
    interface Row<T> {
        @Nullable
        T read(ResultSet result) throws SQLException;
    }

    private CompiledQuery(SessionFactoryImplementor factory, Row<T> row, CompiledSql sql) {
        this.row = row;
        this.inspector = AutocommitExecutor.inspector(factory);
        this.markers = sql.markers();
        this.inTransaction = sql.text();
        this.inAutocommit = KnownDialects.of(factory).inAutocommit(sql.text());
    }

    /** Compiles {@link LockRepository#read}. */
    static CompiledQuery<LockSnapshot> ofSnapshot(SessionFactoryImplementor factory) {
        SnapshotColumns columns = new SnapshotColumns(factory);
        Method method = CompiledSql.method(LockRepository.class, "read");
        return new CompiledQuery<>(
                factory, columns::read, CompiledSql.of(factory, columns.hql(), method, CompiledSql.samples(method)));
    }

    /**
     * Compiles a query for one column.
     *
     * @param column the type of the column: string or long
     * @param repository the interface that declares the query
     * @param name the name of its method
     */
    static <T> CompiledQuery<T> of(
            SessionFactoryImplementor factory, Class<T> column, Class<?> repository, String name) {
        Method method = CompiledSql.method(repository, name);
        return of(factory, column, method, CompiledSql.samples(method));
    }

    /** As {@link #of(SessionFactoryImplementor, Class, Class, String)}, with samples of its arguments. */
    static <T> CompiledQuery<T> of(
            SessionFactoryImplementor factory, Class<T> column, Method method, List<Object> samples) {
        return new CompiledQuery<>(
                factory, result -> result.getObject(1, column), CompiledSql.of(factory, method, samples));
    }

    /**
     * Returns the query with its arguments, ready for execution on a connection.
     *
     * @param timeout limits the execution
     * @param atMost how long the execution may take
     * @param arguments the arguments of the method; a list must be as long as that of the samples
     */
    Statement<List<@Nullable T>> with(StatementTimeout timeout, Duration atMost, Object... arguments) {
        List<Object> values = CompiledSql.flat(List.of(arguments));
        return connection -> {
            String text = connection.getAutoCommit() ? inAutocommit : inTransaction;
            try (PreparedStatement statement = connection.prepareStatement(inspector.apply(text))) {
                int parameter = 0;
                for (int marker : markers) {
                    CompiledSql.bind(statement, ++parameter, values.get(marker));
                }
                timeout.limitQuery(statement, atMost);
                try (ResultSet result = statement.executeQuery()) {
                    List<@Nullable T> found = new ArrayList<>();
                    while (result.next()) {
                        found.add(row.read(result));
                    }
                    return found;
                }
            }
        };
    }
}
