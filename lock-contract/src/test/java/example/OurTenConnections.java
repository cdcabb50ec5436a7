package example;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** The documented class on a database that has no more than ten connections for it. */
public class OurTenConnections extends OurDatabaseTest {

    private static final int CONNECTIONS = 10;

    private static final int PATIENCE_SECONDS = 30;

    private static final Semaphore FREE = new Semaphore(CONNECTIONS);

    @Override
    protected DataSource dataSource() {
        return new DelegatingDataSource(super.dataSource()) {
            @Override
            public Connection getConnection() throws SQLException {
                return limited(super::getConnection);
            }
        };
    }

    private interface Connector {
        Connection connect() throws SQLException;
    }

    private static Connection limited(Connector connector) throws SQLException {
        try {
            if (!FREE.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new SQLTransientConnectionException("All " + CONNECTIONS + " connections are in use");
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new SQLTransientConnectionException("Interrupted", interrupted);
        }
        boolean isOpen = false;
        try {
            Connection limited = limited(connector.connect());
            isOpen = true;
            return limited;
        } finally {
            if (!isOpen) {
                FREE.release();
            }
        }
    }

    private static Connection limited(Connection real) {
        AtomicBoolean isGivenBack = new AtomicBoolean();
        return (Connection) Proxy.newProxyInstance(
                OurTenConnections.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> {
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getTargetException();
                    } finally {
                        boolean isEnd = method.getName().equals("close")
                                || method.getName().equals("abort");
                        if (isEnd && !isGivenBack.getAndSet(true)) {
                            FREE.release();
                        }
                    }
                });
    }
}
