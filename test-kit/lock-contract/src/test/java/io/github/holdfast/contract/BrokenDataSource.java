package io.github.holdfast.contract;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** Connections to a database that does not keep to what locks rely on. */
final class BrokenDataSource extends DelegatingDataSource {

    private final Defect defect;

    BrokenDataSource(DataSource real, Defect defect) {
        super(real);
        this.defect = defect;
    }

    /** What is wrong with the database, or with what is between it and the application. */
    enum Defect {
        NONE,
        UPDATES_COMPARE_THE_NAME_ONLY {
            @Override
            String sent(String sql) {
                int where = sql.indexOf(" where ");
                return sql.startsWith("update distributed_lock") && where > 0
                        ? sql.substring(0, where)
                                + sql.substring(where)
                                        .replaceAll(
                                                "(\\w+\\.)?(version|fencing_token|owner) ?(=|is not distinct from) ?(\\?|null|cast\\(.*?\\))",
                                                "($0 or 1=1)")
                        : sql;
            }
        },
        UPDATES_ALWAYS_ANSWER_ONE {
            @Override
            @Nullable
            Object answered(Method method, @Nullable Object answer) {
                return method.getName().equals("executeUpdate") ? Integer.valueOf(1) : answer;
            }
        },
        ROWS_OF_WAITERS_ARE_NOT_DELETED {
            @Override
            String sent(String sql) {
                // The contract deletes its own rows by a pattern. They would be in the way of the next test.
                return sql.startsWith("delete from lock_waiter") && !sql.contains(" like ") ? sql + " and 1=0" : sql;
            }
        },
        ROWS_OF_HOLDERS_ARE_NOT_DELETED {
            @Override
            String sent(String sql) {
                return sql.startsWith("delete from lock_holder") && !sql.contains(" like ") ? sql + " and 1=0" : sql;
            }
        },
        /** A server that is behind, and answers queries for ever as if it had nothing. */
        ROWS_OF_HOLDERS_ARE_NOT_SEEN {
            @Override
            String sent(String sql) {
                return sql.startsWith("select")
                        ? sql.replaceAll("(join lock_holder \\w+ on|from lock_holder \\w+ where) ", "$1 1=0 and ")
                        : sql;
            }
        },
        /** A pool that gives connections which nobody commits. */
        AUTO_COMMIT_IS_SAID_TO_BE_ON {
            @Override
            void opened(Connection connection) throws SQLException {
                connection.setAutoCommit(false);
            }

            @Override
            boolean isIgnored(Method method) {
                return method.getName().equals("setAutoCommit");
            }

            @Override
            @Nullable
            Object answered(Method method, @Nullable Object answer) {
                return method.getName().equals("getAutoCommit") ? true : answer;
            }
        },
        ROWS_ARE_NOT_LOCKED {
            @Override
            String sent(String sql) {
                return sql.replaceAll(" for (no key )?(update|share).*", "");
            }
        },
        READS_ARE_DIRTY {
            @Override
            void opened(Connection connection) throws SQLException {
                connection.setTransactionIsolation(Connection.TRANSACTION_READ_UNCOMMITTED);
            }

            @Override
            @Nullable
            Object answered(Method method, @Nullable Object answer) {
                return method.getName().equals("getTransactionIsolation")
                        ? Integer.valueOf(Connection.TRANSACTION_READ_COMMITTED)
                        : answer;
            }
        };

        void opened(Connection connection) throws SQLException {}

        String sent(String sql) {
            return sql;
        }

        boolean isIgnored(Method method) {
            return false;
        }

        @Nullable
        Object answered(Method method, @Nullable Object answer) {
            return answer;
        }
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection real = super.getConnection();
        defect.opened(real);
        return proxy(Connection.class, real);
    }

    private <T> T proxy(Class<T> type, T real) {
        InvocationHandler handler = (self, method, arguments) -> {
            if (defect.isIgnored(method)) {
                return null;
            }
            Object answer = defect.answered(method, invoke(real, method, arguments));
            return answer instanceof PreparedStatement statement ? proxy(PreparedStatement.class, statement) : answer;
        };
        return type.cast(Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {type}, handler));
    }

    private @Nullable Object invoke(Object real, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        if (method.getName().equals("prepareStatement") && arguments != null) {
            arguments[0] =
                    defect.sent(Objects.requireNonNull(arguments[0]).toString().toLowerCase(Locale.ROOT));
        }
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException thrown) {
            throw Objects.requireNonNullElse(thrown.getCause(), thrown);
        }
    }
}
