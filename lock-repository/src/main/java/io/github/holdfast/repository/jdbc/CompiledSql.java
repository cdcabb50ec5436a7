package io.github.holdfast.repository.jdbc;

import io.github.holdfast.repository.HibernateSessions;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import org.hibernate.Session;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.query.CommonQueryContract;
import org.hibernate.query.MutationQuery;
import org.hibernate.query.SelectionQuery;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.query.Param;

/**
 * The SQL of a repository's query, for JDBC. Hibernate provides the text and the order of its parameters: it executes the query
 * once, on a connection without a database. So the SQL follows the mapping, naming strategies, schema and dialect of the
 * persistence unit.
 *
 * @param text the SQL
 * @param markers the index of the argument for each parameter marker; a list counts as as many arguments as it has elements
 */
public record CompiledSql(String text, List<Integer> markers) {

    /** Returns the method of a repository with this name. */
    public static Method method(Class<?> repository, String name) {
        return Arrays.stream(repository.getMethods())
                .filter(candidate -> candidate.getName().equals(name))
                .findAny()
                .orElseThrow();
    }

    /** Returns distinct arguments for a method with {@link Param}s of type string, int or long, and one of type boolean. */
    public static List<Object> samples(Method method) {
        List<Object> samples = new ArrayList<>();
        for (Parameter parameter : method.getParameters()) {
            samples.add(sample(parameter.getType(), samples.size()));
        }
        return samples;
    }

    /** Returns a value that differs from those with other numbers. */
    public static Object sample(Class<?> type, int number) {
        if (type == String.class) {
            return "sample " + number;
        }
        if (type == boolean.class) {
            return true;
        }
        return type == int.class ? (Object) (1000 + number) : (Object) (1000L + number);
    }

    /**
     * Compiles the {@link Query} of a method.
     *
     * @param samples an argument for each {@link Param}; all values differ, also those of lists
     */
    public static CompiledSql of(SessionFactoryImplementor factory, Method method, List<Object> samples) {
        return of(factory, method.getAnnotation(Query.class).value(), method, samples);
    }

    /** As {@link #of(SessionFactoryImplementor, Method, List)}, with other HQL for the parameters of the method. */
    public static CompiledSql of(SessionFactoryImplementor factory, String hql, Method method, List<Object> samples) {
        Recorder recorder = new Recorder();
        try (Session session = HibernateSessions.inspecting(HibernateSessions.on(factory, recorder.connection()), null)
                .openSession()) {
            session.beginTransaction();
            if (method.isAnnotationPresent(Modifying.class)) {
                MutationQuery update = session.createMutationQuery(hql);
                bind(update, method, samples);
                update.executeUpdate();
            } else {
                SelectionQuery<Object> query = session.createSelectionQuery(hql, Object.class);
                bind(query, method, samples);
                query.list();
            }
            session.getTransaction().rollback();
        }
        List<Object> values = flat(samples);
        List<Integer> markers =
                recorder.bound.values().stream().map(values::indexOf).toList();
        long expected =
                recorder.sql.chars().filter(character -> character == '?').count();
        if (markers.size() != expected || markers.contains(-1)) {
            throw new IllegalStateException("Cannot determine how Hibernate binds the parameters of " + recorder.sql);
        }
        return new CompiledSql(recorder.sql, markers);
    }

    private static void bind(CommonQueryContract query, Method method, List<Object> samples) {
        Parameter[] parameters = method.getParameters();
        for (int number = 0; number < parameters.length; number++) {
            String name = parameters[number].getAnnotation(Param.class).value();
            if (samples.get(number) instanceof List<?> list) {
                query.setParameterList(name, list);
            } else {
                query.setParameter(name, samples.get(number));
            }
        }
    }

    /** Binds an argument of type string, long, boolean or int. */
    public static void bind(PreparedStatement statement, int parameter, Object value) throws SQLException {
        if (value instanceof String text) {
            statement.setString(parameter, text);
        } else if (value instanceof Long number) {
            statement.setLong(parameter, number);
        } else if (value instanceof Boolean flag) {
            statement.setBoolean(parameter, flag);
        } else {
            statement.setInt(parameter, (Integer) value);
        }
    }

    /** Returns the arguments, with the elements of lists in place of the lists. */
    public static List<Object> flat(List<Object> arguments) {
        List<Object> values = new ArrayList<>();
        for (Object argument : arguments) {
            if (argument instanceof List<?> list) {
                values.addAll(list);
            } else {
                values.add(argument);
            }
        }
        return values;
    }

    /** A connection without a database. It changes nothing, finds nothing, and records the parameters of the last statement. */
    private static final class Recorder {

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
                return method.getName().equals("executeQuery")
                        ? proxy(ResultSet.class, (result, getter, none) -> nothing(getter))
                        : nothing(method);
            });
        }

        /** Among the setters of a statement, only those of parameters take a number and a value. */
        private static boolean isBinding(Method method, @Nullable Object @Nullable [] arguments) {
            return method.getName().startsWith("set") && arguments != null && arguments.length == 2;
        }

        private static <T> T proxy(Class<T> type, InvocationHandler handler) {
            return type.cast(
                    Proxy.newProxyInstance(CompiledSql.class.getClassLoader(), new Class<?>[] {type}, handler));
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
