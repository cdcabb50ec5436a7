package io.github.holdfast.repository;

import io.github.holdfast.repository.AutocommitExecutor.Statement;
import java.lang.reflect.Method;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;

/**
 * A query of a repository for one column, as {@link CompiledSql}. An execution needs no session of Hibernate. Thread-safe.
 *
 * @param <T> the type of the column
 */
final class CompiledQuery<T> {

    private final Class<T> column;
    private final SqlClock clock;
    private final UnaryOperator<String> inspector;
    private final CompiledSql sql;

    private CompiledQuery(Class<T> column, SqlClock clock, UnaryOperator<String> inspector, CompiledSql sql) {
        this.column = column;
        this.clock = clock;
        this.inspector = inspector;
        this.sql = sql;
    }

    /**
     * Compiles a query.
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
                column,
                SqlClock.of(factory.getJdbcServices().getDialect()).orElseThrow(),
                AutocommitExecutor.inspector(factory),
                CompiledSql.of(factory, method, samples));
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
            String text = connection.getAutoCommit() ? clock.inAutocommit(sql.text()) : sql.text();
            try (PreparedStatement statement = connection.prepareStatement(inspector.apply(text))) {
                int parameter = 0;
                for (int marker : sql.markers()) {
                    CompiledSql.bind(statement, ++parameter, values.get(marker));
                }
                timeout.limitQuery(statement, atMost);
                try (ResultSet result = statement.executeQuery()) {
                    List<@Nullable T> found = new ArrayList<>();
                    while (result.next()) {
                        found.add(result.getObject(1, column));
                    }
                    return found;
                }
            }
        };
    }
}
