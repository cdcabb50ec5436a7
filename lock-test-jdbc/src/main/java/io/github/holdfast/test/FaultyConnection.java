package io.github.holdfast.test;

import io.github.holdfast.test.FaultyDataSource.Fault;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A connection of {@link FaultyDataSource}: works until it breaks. */
final class FaultyConnection extends InterceptedConnection {

    private final FaultyDataSource owner;

    /** Held while the real connection works, so that {@link #cut()} knows how to end it. */
    private final ReentrantLock inUse = new ReentrantLock();

    private volatile boolean broken;

    /** Broken after an answer, whose rows stay readable until this is closed. */
    private boolean answered;

    FaultyConnection(FaultyDataSource owner, Connection real) {
        super(real);
        this.owner = owner;
    }

    @Override
    @Nullable
    Object intercept(Call call) throws Throwable {
        if (call.name().equals("cancel")) {
            // It is for a statement that is being executed.
            return call.proceed();
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
            // Executed but not committed it is as one that has not arrived, except that it has the row locked.
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

    /** A call that nothing was planned for, but {@link #cut()} can come in between. */
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
            case "rollback", "abort" -> null;
            case "isValid" -> false;
            case "isClosed" -> true;
            case "toString", "unwrap", "isWrapperFor" -> call.proceed();
            default -> throw failure(null);
        };
    }

    /** Breaks this connection from another thread than the one that perhaps uses it. */
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
                // The thread that uses it ends it when its call returns.
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
            // In autocommit mode, for instance.
        }
    }

    private void close() {
        try {
            real.close();
        } catch (SQLException e) {
            // It is gone in any case.
        }
    }

    private static SQLNonTransientConnectionException failure(@Nullable Throwable cause) {
        return new SQLNonTransientConnectionException("The connection is broken", "08006", cause);
    }
}
