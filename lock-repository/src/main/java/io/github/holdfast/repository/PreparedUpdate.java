package io.github.holdfast.repository;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.hibernate.Session;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.query.MutationQuery;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.query.Param;

/**
 * An update of a repository as JDBC executes it. The SQL and the order of its parameters are learned from Hibernate, which
 * executes the method's query once on a connection that leads nowhere: so mapping, naming strategies, schema and dialect are those
 * of the persistence unit, and an execution costs what it would if the SQL had been written by hand. Thread-safe.
 */
final class PreparedUpdate {

    private static final Pattern MARKER = Pattern.compile("\\?");

    private final SqlClock clock;
    private final String sql;
    private final List<Integer> markers;

    /** By which arguments are null, and whether in autocommit mode. Replaced by a larger one when a text is added. */
    private volatile Map<Integer, String> texts = Map.of();

    /**
     * One.
     *
     * @param markers the number of the method's argument that each parameter marker stands for
     */
    private PreparedUpdate(SqlClock clock, String sql, List<Integer> markers) {
        this.clock = clock;
        this.sql = sql;
        this.markers = markers;
    }

    /**
     * Learns an update.
     *
     * @param repository that declares it
     * @param name of its method, with a {@link Query} that updates and {@link Param}s that are strings, ints and longs
     * @param clock of the database
     */
    static PreparedUpdate of(SessionFactoryImplementor factory, Class<?> repository, String name, SqlClock clock) {
        Method method = Arrays.stream(repository.getMethods())
                .filter(candidate -> candidate.getName().equals(name) && !candidate.isDefault())
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
            throw new IllegalStateException("Not understood how Hibernate binds " + listening.sql);
        }
        return new PreparedUpdate(clock, listening.sql, markers);
    }

    private static Object sample(Class<?> type, int number) {
        if (type == String.class) {
            return "sample " + number;
        }
        return type == int.class ? (Object) (1000 + number) : (Object) (1000L + number);
    }

    /** How a statement is executed. */
    interface Execution {
        int of(PreparedStatement statement) throws SQLException;
    }

    /**
     * Executes it.
     *
     * @param inspector which changes each SQL that is sent
     * @param arguments those of the method
     * @return how many rows it changed
     */
    int on(Connection connection, UnaryOperator<String> inspector, Execution execution, @Nullable Object... arguments)
            throws SQLException {
        String text = inspector.apply(text(connection.getAutoCommit(), arguments));
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            int parameter = 0;
            for (int marker : markers) {
                Object value = arguments[marker];
                if (value != null) {
                    bind(statement, ++parameter, value);
                }
            }
            return execution.of(statement);
        }
    }

    /** With {@code null} written in place of the markers whose arguments are null: what is computed with them, the database then leaves out. */
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

    /** A connection on which every update changes nothing, and what is bound to the parameters of the last one. */
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

        /** Of the setters, only those of parameters take a number and a value. */
        private static boolean isBinding(Method method, @Nullable Object @Nullable [] arguments) {
            return method.getName().startsWith("set") && arguments != null && arguments.length == 2;
        }

        private static <T> T proxy(Class<T> type, InvocationHandler handler) {
            return type.cast(
                    Proxy.newProxyInstance(PreparedUpdate.class.getClassLoader(), new Class<?>[] {type}, handler));
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
