package io.github.holdfast.repository.jdbc;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.jdbc.AutocommitExecutor.Statement;
import java.lang.reflect.Method;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongConsumer;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.hibernate.dialect.Dialect;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.query.Param;

/** An update of a repository, as {@link CompiledSql}. An execution costs as much as hand-written SQL. Thread-safe. */
public final class CompiledUpdate {

    private static final Logger LOG = LoggerFactory.getLogger(CompiledUpdate.class);

    private static final Pattern MARKER = Pattern.compile("\\?");

    private final LockDialect dialect;
    private final UnaryOperator<String> inspector;
    private final String sql;
    private final List<Integer> markers;

    /** The column whose new value is the key that the update generates; null if it generates none. */
    private final @Nullable String keyColumn;

    /**
     * The SQL texts. The key encodes which arguments are null, and whether the connection is in autocommit mode. A new text
     * replaces the map by a larger one.
     */
    private volatile Map<Integer, String> texts = Map.of();

    /**
     * Creates an update.
     *
     * @param inspector changes each SQL text before it is sent
     * @param keyColumn the column whose new value is the key that the update generates; null if it generates none
     */
    private CompiledUpdate(
            LockDialect dialect, UnaryOperator<String> inspector, CompiledSql compiled, @Nullable String keyColumn) {
        this.dialect = dialect;
        this.inspector = inspector;
        this.sql = compiled.text();
        this.markers = compiled.markers();
        this.keyColumn = keyColumn;
    }

    private CompiledUpdate(CompiledUpdate origin, String keyColumn) {
        this.dialect = origin.dialect;
        this.inspector = origin.inspector;
        this.sql = origin.sql;
        this.markers = origin.markers;
        this.keyColumn = keyColumn;
    }

    /** Returns the same update, with the value of a column of the changed row as its key. */
    public CompiledUpdate returning(String column) {
        return new CompiledUpdate(this, column);
    }

    /**
     * Compiles an update.
     *
     * @param repository the interface that declares the update
     * @param name the name of its method, with an updating {@link Query}, and with {@link Param}s of type string, int, long or boolean
     */
    public static CompiledUpdate of(SessionFactoryImplementor factory, Class<?> repository, String name) {
        return of(factory, repository, name, null);
    }

    /**
     * Compiles an update that generates a key: the new value of an attribute of {@link LockEntity}. On MySQL and MariaDB, the key
     * is the argument of {@code last_insert_id}, whatever the attribute.
     */
    public static CompiledUpdate generating(
            SessionFactoryImplementor factory, String attribute, Class<?> repository, String name) {
        return of(factory, repository, name, column(factory, attribute));
    }

    private static CompiledUpdate of(
            SessionFactoryImplementor factory, Class<?> repository, String name, @Nullable String keyColumn) {
        Method method = CompiledSql.method(repository, name);
        CompiledSql compiled = CompiledSql.of(factory, method, CompiledSql.samples(method));
        return new CompiledUpdate(
                KnownDialects.of(factory), AutocommitExecutor.inspector(factory), compiled, keyColumn);
    }

    /** Returns the name of a column as the driver expects it; null if the driver does not return its new value. */
    private static @Nullable String column(SessionFactoryImplementor factory, String attribute) {
        Dialect dialect = factory.getJdbcServices().getDialect();
        String inSql = factory.getMappingMetamodel()
                .getEntityDescriptor(LockEntity.class)
                .findAttributeMapping(attribute)
                .getSelectable(0)
                .getSelectionExpression();
        boolean isQuoted = inSql.charAt(0) == dialect.openQuote();
        String name = isQuoted ? inSql.substring(1, inSql.length() - 1) : inSql;
        return KnownDialects.of(factory)
                .returnedColumn(name)
                .map(folded -> isQuoted ? name : folded)
                .orElse(null);
    }

    /**
     * Returns the update with its arguments, ready for execution on a connection. The execution returns how many rows it changed.
     *
     * @param timeout limits the execution
     * @param atMost how long the execution may take
     * @param arguments the arguments of the method; the first is the name of the lock
     */
    public Statement<Integer> with(StatementTimeout timeout, Duration atMost, @Nullable Object... arguments) {
        return with(null, timeout, atMost, arguments);
    }

    /**
     * Does the same as {@link #with(StatementTimeout, Duration, Object...)}, and passes on the key that the update generated.
     *
     * @param keys receives the key, if a row was changed and the driver reports a key; null if the update generates none
     */
    public Statement<Integer> with(
            @Nullable LongConsumer keys, StatementTimeout timeout, Duration atMost, @Nullable Object... arguments) {
        return connection -> {
            String text = inspector.apply(text(connection.getAutoCommit(), arguments));
            try (PreparedStatement statement = keyColumn == null
                    ? connection.prepareStatement(text)
                    : connection.prepareStatement(text, new String[] {keyColumn})) {
                bind(statement, arguments);
                String name = (String) Objects.requireNonNull(arguments[0], "name");
                StatementTimeout.Watch watch = timeout.beginUpdate(name, statement, atMost);
                int changed;
                try {
                    changed = statement.executeUpdate();
                } catch (SQLException failed) {
                    throw watch.failed(failed);
                } finally {
                    watch.end();
                }
                if (changed > 0) {
                    watch.confirm();
                    tell(keys, statement);
                }
                return changed;
            }
        };
    }

    /** Passes the generated key on. The update has succeeded, so a failure of the driver counts as no key. */
    private void tell(@Nullable LongConsumer keys, PreparedStatement executed) {
        if (keys == null || keyColumn == null) {
            return;
        }
        try (ResultSet generated = executed.getGeneratedKeys()) {
            if (generated != null && generated.next()) {
                keys.accept(generated.getLong(1));
            }
        } catch (SQLException | RuntimeException unavailable) {
            LOG.debug("The driver does not report the key of an update", unavailable);
        }
    }

    private void bind(PreparedStatement statement, @Nullable Object[] arguments) throws SQLException {
        int parameter = 0;
        for (int marker : markers) {
            Object value = arguments[marker];
            if (value != null) {
                CompiledSql.bind(statement, ++parameter, value);
            }
        }
    }

    /**
     * Returns the SQL with {@code null} in place of each marker whose argument is null. The database then computes nothing with
     * it.
     */
    private String text(boolean inAutocommit, @Nullable Object[] arguments) {
        int nulls = 0;
        for (int marker = 0; marker < markers.size(); marker++) {
            if (arguments[markers.get(marker)] == null) {
                nulls |= 1 << marker;
            }
        }
        int variant = inAutocommit ? ~nulls : nulls;
        String known = texts.get(variant);
        if (known != null) {
            return known;
        }
        String text = withNulls(inAutocommit ? dialect.inAutocommit(sql) : sql, arguments);
        Map<Integer, String> more = new HashMap<>(texts);
        more.put(variant, text);
        texts = more;
        return text;
    }

    private String withNulls(String text, @Nullable Object[] arguments) {
        Iterator<Integer> marked = markers.iterator();
        return withoutSums(MARKER.matcher(text).replaceAll(marker -> arguments[marked.next()] == null ? "null" : "?"));
    }

    /** Returns the SQL with a plain null in place of each addition of null to the clock. Such a sum is null anyway. */
    private String withoutSums(String text) {
        String nowPlusNull = dialect.clock().nowPlusMicros().replace("?1", "null");
        return text.replace(nowPlusNull, "null").replace(dialect.inAutocommit(nowPlusNull), "null");
    }
}
