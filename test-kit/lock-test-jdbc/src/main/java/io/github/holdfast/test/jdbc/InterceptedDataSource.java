package io.github.holdfast.test.jdbc;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Wraps the connections of another data source. It passes on all other calls, except those that set the login timeout. Each
 * HikariCP pool sets that timeout to its connectionTimeout, which should not affect direct users of the other data source.
 */
abstract class InterceptedDataSource implements DataSource {

    private final DataSource real;
    private volatile int loginTimeout;

    InterceptedDataSource(DataSource real) {
        this.real = real;
    }

    /** Opens and wraps a connection. */
    abstract Connection connect(Connector connector) throws SQLException;

    @Override
    public final Connection getConnection() throws SQLException {
        return connect(real::getConnection);
    }

    @Override
    public final Connection getConnection(String username, String password) throws SQLException {
        return connect(() -> real.getConnection(username, password));
    }

    @Override
    public final <T> T unwrap(Class<T> type) throws SQLException {
        return type.isInstance(this) ? type.cast(this) : type.isInstance(real) ? type.cast(real) : real.unwrap(type);
    }

    @Override
    public final boolean isWrapperFor(Class<?> type) throws SQLException {
        return type.isInstance(this) || type.isInstance(real) || real.isWrapperFor(type);
    }

    @Override
    public final @Nullable PrintWriter getLogWriter() throws SQLException {
        return real.getLogWriter();
    }

    @Override
    public final void setLogWriter(@Nullable PrintWriter out) throws SQLException {
        real.setLogWriter(out);
    }

    @Override
    public final int getLoginTimeout() {
        return loginTimeout;
    }

    @Override
    public final void setLoginTimeout(int seconds) {
        loginTimeout = seconds;
    }

    @Override
    public final Logger getParentLogger() {
        return Logger.getLogger(InterceptedDataSource.class.getPackageName());
    }

    /** Opens a connection. */
    interface Connector {
        Connection connect() throws SQLException;
    }
}
