package io.github.holdfast.repository.store;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/** A connection that may not create a table, because another session creates it, and that sees the table only at a later look. */
public final class LateTable {

    /** The look before its creation, and two after that. */
    private static final int LOOKS_IN_VAIN = 3;

    private final String table;
    private final Runnable creation;
    private int looks;

    /** @param creation creates the table in another session */
    public LateTable(String table, Runnable creation) {
        this.table = table;
        this.creation = creation;
    }

    /** Returns how often the table was looked for. */
    public int looks() {
        return looks;
    }

    public Connection of(Connection real) {
        return proxy(Connection.class, real);
    }

    private <T> T proxy(Class<T> type, T real) {
        return type.cast(Proxy.newProxyInstance(
                LateTable.class.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    if (method.getName().equals("execute")) {
                        before((String) arguments[0]);
                    }
                    try {
                        Object result = method.invoke(real, arguments);
                        return result instanceof Statement statement ? proxy(Statement.class, statement) : result;
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                }));
    }

    private void before(String sql) throws SQLException {
        if (sql.startsWith("create table " + table)) {
            throw new SQLException("type \"" + table + "\" already exists", "42710");
        }
        if (sql.startsWith("select 1 from " + table + " ")) {
            looks++;
            if (looks > LOOKS_IN_VAIN) {
                creation.run();
            }
        }
    }
}
