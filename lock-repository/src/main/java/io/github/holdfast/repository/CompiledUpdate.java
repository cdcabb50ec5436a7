package io.github.holdfast.repository;

import io.github.holdfast.repository.AutocommitExecutor.Statement;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.LongConsumer;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.hibernate.Session;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.query.MutationQuery;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.query.Param;

/**
 * An update of a repository, compiled for JDBC. Hibernate provides the SQL and the order of its parameters: it executes the
 * method's query once, on a connection without a database. So the SQL follows the mapping, naming strategies, schema and dialect
 * of the persistence unit. An execution costs as much as hand-written SQL. Thread-safe.
 */
final class CompiledUpdate {

    private static final Logger LOG = LoggerFactory.getLogger(CompiledUpdate.class);

    private static final Pattern MARKER = Pattern.compile("\\?");

    private final SqlClock clock;
    private final UnaryOperator<String> inspector;
    private final String sql;
    private final List<Integer> markers;

    /**
     * The SQL texts. The key encodes which arguments are null, and whether the connection is in autocommit mode. A new text
     * replaces the map by a larger one.
     */
    private volatile Map<Integer, String> texts = Map.of();

    /**
     * Creates an update.
     *
     * @param inspector changes each SQL text before it is sent
     * @param markers the index of the method's argument for each parameter marker
     */
    private CompiledUpdate(SqlClock clock, UnaryOperator<String> inspector, String sql, List<Integer> markers) {
        this.clock = clock;
        this.inspector = inspector;
        this.sql = sql;
        this.markers = markers;
    }

    /**
     * Compiles an update.
     *
     * @param repository the interface that declares the update
     * @param name the name of its method, with an updating {@link Query}, and with {@link Param}s of type string, int or long
     */
    static CompiledUpdate of(SessionFactoryImplementor factory, Class<?> repository, String name) {
        Method method = Arrays.stream(repository.getMethods())
                .filter(candidate -> candidate.getName().equals(name))
                .findAny()
                .orElseThrow();
        Parameter[] parameters = method.getParameters();
        List<Object> samples = new ArrayList<>();
        for (int number = 0; number < parameters.length; number++) {
            samples.add(sample(parameters[number].getType(), number));
        }
        Listening listening = new Listening();
        try (Session session = factory.withOptions()
                .connection(listening.connection())
                .noStatementInspector()
                .openSession()) {
            session.beginTransaction();
            MutationQuery query = session.createMutationQuery(
                    method.getAnnotation(Query.class).value());
            for (int number = 0; number < parameters.length; number++) {
                query.setParameter(parameters[number].getAnnotation(Param.class).value(), samples.get(number));
            }
            query.executeUpdate();
            session.getTransaction().rollback();
        }
        List<Integer> markers =
                listening.bound.values().stream().map(samples::indexOf).toList();
        if (markers.size()
                        != listening
                                .sql
                                .chars()
                                .filter(character -> character == '?')
                                .count()
                || markers.contains(-1)) {
            throw new IllegalStateException("Cannot tell how Hibernate binds the parameters of " + listening.sql);
        }
        SqlClock clock = SqlClock.of(factory.getJdbcServices().getDialect()).orElseThrow();
        return new CompiledUpdate(clock, AutocommitExecutor.inspector(factory), listening.sql, markers);
    }

    private static Object sample(Class<?> type, int number) {
        if (type == String.class) {
            return "sample " + number;
        }
        return type == int.class ? (Object) (1000 + number) : (Object) (1000L + number);
    }

    /**
     * Returns the update with its arguments, ready for execution on a connection. The execution returns how many rows it changed.
     *
     * @param timeout limits the execution
     * @param atMost how long the execution may take
     * @param arguments the arguments of the method; the first is the name of the lock
     */
    Statement<Integer> with(StatementTimeout timeout, Duration atMost, @Nullable Object... arguments) {
        return with(null, timeout, atMost, arguments);
    }

    /**
     * Does the same as {@link #with(StatementTimeout, Duration, Object...)}, and passes on the key that the update generated.
     *
     * @param keys receives the key, if a row was changed and the driver reports a key; null to ask for none
     */
    Statement<Integer> with(
            @Nullable LongConsumer keys, StatementTimeout timeout, Duration atMost, @Nullable Object... arguments) {
        return connection -> {
            String text = inspector.apply(text(connection.getAutoCommit(), arguments));
            try (PreparedStatement statement = keys == null
                    ? connection.prepareStatement(text)
                    : connection.prepareStatement(text, PreparedStatement.RETURN_GENERATED_KEYS)) {
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
    private static void tell(@Nullable LongConsumer keys, PreparedStatement executed) {
        if (keys == null) {
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
                bind(statement, ++parameter, value);
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
        String text = withNulls(inAutocommit ? clock.inAutocommit(sql) : sql, arguments);
        Map<Integer, String> more = new HashMap<>(texts);
        more.put(variant, text);
        texts = more;
        return text;
    }

    private String withNulls(String text, @Nullable Object[] arguments) {
        Iterator<Integer> marked = markers.iterator();
        return clock.withoutNulls(
                MARKER.matcher(text).replaceAll(marker -> arguments[marked.next()] == null ? "null" : "?"));
    }

    private static void bind(PreparedStatement statement, int parameter, Object value) throws SQLException {
        if (value instanceof String text) {
            statement.setString(parameter, text);
        } else if (value instanceof Long number) {
            statement.setLong(parameter, number);
        } else {
            statement.setInt(parameter, (Integer) value);
        }
    }

    /** A connection without a database. It changes nothing, and records the parameter values of the last update. */
    private static final class Listening {

        private final TreeMap<Integer, Object> bound = new TreeMap<>();
        private String sql = "";

        Connection connection() {
            return proxy(Connection.class, (proxy, method, arguments) -> {
                if (method.getName().equals("prepareStatement")) {
                    sql = (String) Objects.requireNonNull(arguments)[0];
                    return statement();
                }
                return nothing(method);
            });
        }

        private PreparedStatement statement() {
            return proxy(PreparedStatement.class, (proxy, method, arguments) -> {
                if (isBinding(method, arguments)) {
                    bound.put((Integer) arguments[0], arguments[1]);
                }
                return nothing(method);
            });
        }

        /** Among the setters of a statement, only those of parameters take a number and a value. */
        private static boolean isBinding(Method method, @Nullable Object @Nullable [] arguments) {
            return method.getName().startsWith("set") && arguments != null && arguments.length == 2;
        }

        private static <T> T proxy(Class<T> type, InvocationHandler handler) {
            return type.cast(
                    Proxy.newProxyInstance(CompiledUpdate.class.getClassLoader(), new Class<?>[] {type}, handler));
        }

        private static @Nullable Object nothing(Method method) {
            return switch (method.getReturnType().getName()) {
                case "boolean" -> false;
                case "int" -> 0;
                case "long" -> 0L;
                default -> null;
            };
        }
    }
}
