package io.github.holdfast.service;

import static io.github.holdfast.repository.jdbc.JdbcProxies.invoke;
import static io.github.holdfast.repository.jdbc.JdbcProxies.proxy;

import io.github.holdfast.repository.jdbc.JdbcProxies;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Connections on which one write of a chosen thread is committed at once and answered when the test says so, one statement is sent
 * when the test says so, or one grant fails as if it was still under way.
 */
final class LateAnswer {

    private final DataSource real;
    private final CountDownLatch done = new CountDownLatch(1);
    private final CountDownLatch answered = new CountDownLatch(1);
    private volatile @Nullable Thread chosen;
    private final AtomicBoolean isGrantStuck = new AtomicBoolean();
    private final CountDownLatch stuck = new CountDownLatch(1);
    private volatile boolean isLost;
    private volatile boolean isSentLate;

    LateAnswer(DataSource real) {
        this.real = real;
    }

    DataSource dataSource() {
        return JdbcProxies.dataSource(real, this::late);
    }

    private Connection late(Connection connection) {
        return proxy(Connection.class, (proxy, method, arguments) -> {
            Object result = invoke(connection, method, arguments);
            if (method.getName().equals("commit")) {
                answerLate();
            }
            return result instanceof PreparedStatement statement
                    ? late(connection, statement, String.valueOf(arguments == null ? null : arguments[0]))
                    : result;
        });
    }

    private PreparedStatement late(Connection connection, PreparedStatement statement, String sql) {
        return proxy(PreparedStatement.class, (proxy, method, arguments) -> {
            if (method.getName().equals("executeUpdate")
                    && sql.contains("hold_count=1")
                    && isGrantStuck.compareAndSet(true, false)) {
                stuck.countDown();
                throw new SQLNonTransientConnectionException("The grant is still under way", "08006");
            }
            if (isSentLate && method.getName().startsWith("execute")) {
                answerLate();
            }
            Object result = invoke(statement, method, arguments);
            if (method.getName().equals("executeUpdate") && connection.getAutoCommit()) {
                answerLate();
            }
            return result;
        });
    }

    private void answerLate() throws InterruptedException, SQLException {
        if (Thread.currentThread() == chosen) {
            chosen = null;
            done.countDown();
            await(answered);
            if (isLost) {
                throw new SQLNonTransientConnectionException("The answer is lost", "08006");
            }
        }
    }

    /** Chooses the next write of the current thread. */
    void choose() {
        chosen = Thread.currentThread();
    }

    /** Chooses the next statement of the current thread, and keeps it from the database. */
    void chooseUnsent() {
        isSentLate = true;
        choose();
    }

    /** Lets the next grant of any thread fail, which the database does not execute. */
    void stickNextGrant() {
        isGrantStuck.set(true);
    }

    /** Whether a grant has failed. */
    boolean isStuck() {
        return stuck.getCount() == 0;
    }

    /** Returns when the chosen write is committed. */
    void awaitDone() throws InterruptedException {
        await(done);
    }

    /** Lets the chosen write be answered. */
    void answer() {
        answered.countDown();
    }

    /** Lets the call of the chosen write fail, which is committed nevertheless. */
    void loseAnswer() {
        isLost = true;
        answer();
    }

    private static void await(CountDownLatch latch) throws InterruptedException {
        if (!latch.await(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException("It took too long");
        }
    }
}
