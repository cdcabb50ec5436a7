package io.github.holdfast.service;

import static io.github.holdfast.repository.jdbc.JdbcProxies.invoke;
import static io.github.holdfast.repository.jdbc.JdbcProxies.proxy;

import io.github.holdfast.repository.jdbc.JdbcProxies;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Connections of which one update of a lock's row throws what JDBC knows nothing of, as a proxy or a full memory may. */
final class BrokenDriver {

    /** What becomes of the update. */
    enum When {
        /** It is not executed. */
        BEFORE,
        /** It is executed. */
        AFTER
    }

    private record Failure(Supplier<Throwable> thrown, When when) {}

    private final DataSource real;
    private final AtomicReference<@Nullable Failure> next = new AtomicReference<>();

    BrokenDriver(DataSource real) {
        this.real = real;
    }

    /** Lets the next update of a lock's row throw, on whatever thread. */
    void failNext(Supplier<Throwable> thrown, When when) {
        next.set(new Failure(thrown, when));
    }

    /** Whether the update that was to throw has come. */
    boolean hasFailed() {
        return next.get() == null;
    }

    DataSource dataSource() {
        return JdbcProxies.dataSource(real, this::broken);
    }

    private Connection broken(Connection connection) {
        return proxy(Connection.class, (proxy, method, arguments) -> {
            Object result = invoke(connection, method, arguments);
            return result instanceof PreparedStatement statement
                            && arguments != null
                            && String.valueOf(arguments[0]).startsWith("update distributed_lock")
                    ? broken(statement)
                    : result;
        });
    }

    private PreparedStatement broken(PreparedStatement statement) {
        return proxy(PreparedStatement.class, (proxy, method, arguments) -> {
            Failure failure = method.getName().equals("executeUpdate") ? next.getAndSet(null) : null;
            if (failure != null && failure.when() == When.BEFORE) {
                throw failure.thrown().get();
            }
            Object result = invoke(statement, method, arguments);
            if (failure != null) {
                throw failure.thrown().get();
            }
            return result;
        });
    }
}
