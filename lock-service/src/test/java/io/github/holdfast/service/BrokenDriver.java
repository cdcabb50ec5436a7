package io.github.holdfast.service;

import static io.github.holdfast.repository.jdbc.JdbcProxies.invoke;
import static io.github.holdfast.repository.jdbc.JdbcProxies.proxy;

import io.github.holdfast.repository.jdbc.JdbcProxies;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Connections of which one update of a lock's row, or one end of a transaction, throws what JDBC knows nothing of, as a proxy or a full memory
 * may.
 */
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
    private final AtomicReference<@Nullable Supplier<Throwable>> nextEnd = new AtomicReference<>();

    /** What each update of a run's row throws; null if it is executed. */
    private volatile Supplier<@Nullable Throwable> ofRuns = () -> null;

    BrokenDriver(DataSource real) {
        this.real = real;
    }

    /** Lets the next update of a lock's row throw, on whatever thread. */
    void failNext(Supplier<Throwable> thrown, When when) {
        next.set(new Failure(thrown, when));
    }

    /** Lets the next commit or rollback throw, on whatever thread. It is not executed. */
    void failNextEnd(Supplier<Throwable> thrown) {
        nextEnd.set(thrown);
    }

    /** Lets updates of runs throw what this returns, and executes them if it returns null. */
    void failRuns(Supplier<@Nullable Throwable> thrown) {
        ofRuns = thrown;
    }

    /** Whether what was to throw has come. */
    boolean hasFailed() {
        return next.get() == null && nextEnd.get() == null;
    }

    DataSource dataSource() {
        return JdbcProxies.dataSource(real, this::broken);
    }

    private Connection broken(Connection connection) {
        return proxy(Connection.class, (proxy, method, arguments) -> {
            Supplier<Throwable> end =
                    List.of("commit", "rollback").contains(method.getName()) ? nextEnd.getAndSet(null) : null;
            if (end != null) {
                throw end.get();
            }
            Object result = invoke(connection, method, arguments);
            String sql = arguments == null ? "" : String.valueOf(arguments[0]);
            if (result instanceof PreparedStatement statement && sql.startsWith("update distributed_lock")) {
                return broken(statement);
            }
            return result instanceof PreparedStatement statement && sql.startsWith("update lock_run")
                    ? ofRun(statement)
                    : result;
        });
    }

    private PreparedStatement ofRun(PreparedStatement statement) {
        return proxy(PreparedStatement.class, (proxy, method, arguments) -> {
            Throwable thrown = method.getName().equals("executeUpdate") ? ofRuns.get() : null;
            if (thrown != null) {
                throw thrown;
            }
            return invoke(statement, method, arguments);
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
