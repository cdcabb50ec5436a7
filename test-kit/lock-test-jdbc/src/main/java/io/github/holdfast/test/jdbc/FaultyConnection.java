package io.github.holdfast.test.jdbc;

import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A connection of {@link FaultyDataSource}, which works until the fault. */
final class FaultyConnection extends InterceptedConnection {

    private final FaultyDataSource owner;

    /** Held during each call on the real connection. So {@link #cut()} knows whether another thread is using the connection. */
    private final ReentrantLock inUse = new ReentrantLock();

    private volatile boolean broken;

    /** Whether the connection broke after an answer. The rows of that answer stay readable until this connection is closed. */
    private boolean answered;

    FaultyConnection(FaultyDataSource owner, Connection real) {
        super(real);
        this.owner = owner;
    }

    @Override
    @Nullable
    Object intercept(Call call) throws Throwable {
        if (call.name().equals("cancel")) {
            // Another thread is executing the statement that this call cancels, so it must not wait for that thread.
            return call.proceed();
        }
        if (call.name().equals("abort")) {
            // Ends a statement of another thread too.
            return broken ? null : call.proceed();
        }
        inUse.lock();
        try {
            if (broken) {
                return onBroken(call);
            }
            Object result = call.isExecution() || call.isCommit() ? step(call) : pass(call);
            if (call.name().equals("close") && call.isOnConnection()) {
                owner.forget(this);
            }
            return result;
        } finally {
            inUse.unlock();
        }
    }

    private @Nullable Object step(Call call) throws Throwable {
        Fault fault = owner.step(call);
        if (fault == null) {
            return pass(call);
        }
        broken = true;
        owner.forget(this);
        if (fault == Fault.DELAYED && call.isCommit()) {
            owner.delay(real);
            throw failure(null);
        }
        if (fault == Fault.DELAYED && real.getAutoCommit()) {
            // For others, an executed but uncommitted statement looks as if it had not arrived yet. But it has the row
            // locked.
            real.setAutoCommit(false);
            call.proceed();
            owner.delay(real);
            throw failure(null);
        }
        if (fault == Fault.BEFORE_SEND || fault == Fault.DELAYED) {
            end();
            throw failure(null);
        }
        try {
            Object answer = call.proceed();
            if (fault == Fault.AFTER_SEND && !call.isCommit()) {
                answered = true;
                rollback();
                return answer;
            }
        } catch (SQLException e) {
            end();
            throw failure(e);
        }
        end();
        throw failure(null);
    }

    /** Passes a call without a planned fault. {@link #cut()} may still interrupt it. */
    private @Nullable Object pass(Call call) throws Throwable {
        Throwable cause = null;
        Object result = null;
        try {
            result = call.proceed();
        } catch (SQLException e) {
            cause = e;
        }
        if (broken) {
            end();
            throw failure(cause);
        }
        if (cause != null) {
            throw cause;
        }
        return result;
    }

    private @Nullable Object onBroken(Call call) throws Throwable {
        return switch (call.name()) {
            case "close" -> {
                if (answered && call.isOnConnection()) {
                    close();
                }
                yield null;
            }
            case "rollback" -> null;
            case "isValid" -> false;
            case "isClosed" -> true;
            case "toString", "unwrap", "isWrapperFor" -> call.proceed();
            default -> throw failure(null);
        };
    }

    /** Breaks this connection. Another thread may be using it. */
    void cut() {
        broken = true;
        owner.forget(this);
        if (inUse.tryLock()) {
            try {
                end();
            } finally {
                inUse.unlock();
            }
        } else {
            try {
                real.abort(Runnable::run);
            } catch (SQLException e) {
                // The using thread ends the connection when its call returns.
            }
        }
    }

    private void end() {
        rollback();
        close();
    }

    private void rollback() {
        try {
            real.rollback();
        } catch (SQLException e) {
            // For example, in autocommit mode.
        }
    }

    private void close() {
        try {
            real.close();
        } catch (SQLException e) {
            // The connection is gone in any case.
        }
    }

    private static SQLNonTransientConnectionException failure(@Nullable Throwable cause) {
        return new SQLNonTransientConnectionException("The connection is broken", "08006", cause);
    }
}
