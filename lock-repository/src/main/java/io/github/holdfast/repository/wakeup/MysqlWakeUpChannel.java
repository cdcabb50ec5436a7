package io.github.holdfast.repository.wakeup;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.jdbc.AutocommitExecutor;
import io.github.holdfast.repository.jdbc.CompiledUpdate;
import io.github.holdfast.repository.jdbc.StoreTransactions;
import io.github.holdfast.repository.rows.JpaLockRows;
import io.github.holdfast.repository.rows.LockWaiterRepository;
import io.github.holdfast.repository.rows.NextWaiterQuery;
import io.github.holdfast.repository.rows.WakingRelease;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.hibernate.Session;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Wakes waiters on MySQL and MariaDB. A listening service owns a named lock of the server, its bell, and sleeps in a query. A
 * release learns from its own answer whose bell to ring. To ring, it kills the query of the bell's owner ({@link MysqlBell}). That
 * needs no privilege, if both sessions belong to the same user. Thread-safe.
 *
 * <p>The server looks up the owner of the bell when it executes the kill. So a ring never hits a session other than the one that
 * owns the bell at that moment, and that session is used for nothing else.
 */
public final class MysqlWakeUpChannel implements WakeUpChannel, WakingRelease {

    private static final Logger LOG = LoggerFactory.getLogger(MysqlWakeUpChannel.class);

    private static final Duration LIMIT = Duration.ofSeconds(5);

    /** How many rings in a row may interrupt the query for free locks. */
    private static final int INTERRUPTIONS = 10;

    /** After this many sleeps without a ring, a minute, the bell is proved again: it may be on a server that was replaced. */
    private static final int SILENT_SLEEPS = 12;

    private final StoreTransactions transactions;
    private final AutocommitExecutor executor;
    private final LockWaiterRepository waiters;
    private final MysqlWakeUpRepository woken;
    private final CompiledUpdate release;
    private final Consumer<Runnable> background;
    private volatile @Nullable Long bell;
    private volatile @Nullable Receiver receiver;
    private volatile @Nullable Connection listening;
    private volatile boolean isRefusalReported;

    /**
     * Creates the channel of a store.
     *
     * @param executor executes single statements of the store
     * @param background runs work soon, on another thread
     */
    public MysqlWakeUpChannel(
            StoreTransactions transactions,
            AutocommitExecutor executor,
            LockWaiterRepository waiters,
            Consumer<Runnable> background) {
        this.transactions = transactions;
        this.executor = executor;
        this.waiters = waiters;
        woken = transactions.laterRepository(MysqlWakeUpRepository.class);
        this.release = CompiledUpdate.generating(
                transactions.factory(), "holdCount", MysqlWakeUpRepository.class, "releaseAndTell");
        this.background = background;
    }

    @Override
    public @Nullable Long bell() {
        return bell;
    }

    @Override
    public boolean release(JpaLockRows locks, LockEntity before) {
        long[] next = new long[1];
        boolean released = locks.updateForKey(
                before,
                key -> next[0] = key,
                release,
                before.name(),
                before.version(),
                before.fencingToken(),
                before.owner(),
                NextWaiterQuery.bell(bell));
        if (released) {
            locks.afterCommit(() -> wake(before.name(), next[0]));
        }
        return released;
    }

    /** Rings the bell of the service that is next, if the number is one of a bell. */
    private void wake(String name, long next) {
        if (next > 0) {
            Receiver listener = receiver;
            if (listener != null) {
                listener.awaitedElsewhere(name);
            }
            ring(next);
        }
    }

    @Override
    public void wakeNext(String name) {
        ring(() -> waiters.next(name, NextWaiterQuery.bell(bell)));
    }

    @Override
    public void recall(String name, String nodeId) {
        ring(() -> waiters.bell(nodeId));
    }

    private void ring(Supplier<List<@Nullable Long>> bells) {
        List<@Nullable Long> found = transactions.committed(LIMIT, bells);
        Long number = found.isEmpty() ? null : found.get(0);
        if (number != null) {
            ring(number);
        }
    }

    /** Rings a bell in the background. The caller has done its own work already, and must not wait for a connection. */
    private void ring(long number) {
        background.accept(() -> {
            try {
                if (!executor.execute(connection -> MysqlBell.ring(connection, number), AutocommitExecutor.READ)
                        && !isRefusalReported) {
                    isRefusalReported = true;
                    LOG.warn("Cannot wake a waiter of another service: it connects as a different database user");
                }
            } catch (StoreException failed) {
                LOG.debug("Could not wake the service with bell {}", number, failed);
            }
        });
    }

    @Override
    public void listen(Receiver listener) {
        try {
            executor.execute(connection -> listen(connection, listener), AutocommitExecutor.READ);
        } catch (StoreException failed) {
            if (listener.isOpen()) {
                throw failed;
            }
        } finally {
            bell = null;
            receiver = null;
            listening = null;
        }
    }

    /**
     * Listens until the receiver is closed. It always ends with an exception that says that the connection is of no more use, so
     * that it is not given back to its pool: a late ring would kill a query of its next user.
     */
    private Void listen(Connection connection, Receiver listener) throws SQLException {
        listening = connection;
        try {
            MysqlBell own = new MysqlBell(connection);
            own.install();
            own.prove(() -> ring(own.number()), listener::isOpen);
            bell = own.number();
            receiver = listener;
            listener.ready();
            int silentSleeps = 0;
            // A ring between the proof and the sleep is lost, and a proof may take the ring of a release for its own.
            boolean mayHaveMissed = true;
            while (listener.isOpen()) {
                if (mayHaveMissed ? own.sleepBrieflyUntilRung() : own.sleepUntilRung()) {
                    silentSleeps = 0;
                    tell(listener, connection, own.number());
                    mayHaveMissed = true;
                } else if (mayHaveMissed) {
                    tellMissed(listener, connection, own.number());
                    mayHaveMissed = false;
                } else if (++silentSleeps == SILENT_SLEEPS) {
                    silentSleeps = 0;
                    own.prove(() -> ring(own.number()), listener::isOpen);
                    mayHaveMissed = true;
                }
            }
        } catch (SQLException | RuntimeException | Error ended) {
            throw MysqlBell.broken("The listening connection ended: " + ended.getMessage(), ended);
        }
        throw MysqlBell.broken("The service has stopped listening", null);
    }

    /** Notifies of the releases whose rings came between two sleeps, and woke no thread. */
    private void tellMissed(Receiver listener, Connection connection, long number) {
        listener.stillFree(free(connection, number));
    }

    private void tell(Receiver listener, Connection connection, long number) {
        listener.woken(() -> free(connection, number));
    }

    /** Reads which locks are free. */
    private List<String> free(Connection connection, long number) {
        try (Session session = executor.session(connection)) {
            return free(session, number, INTERRUPTIONS);
        } catch (SQLException broken) {
            throw StoreException.of(Failure.UNAVAILABLE, broken);
        }
    }

    /** Another ring may kill this query too. */
    private List<String> free(Session session, long number, int interruptions) {
        try {
            return transactions.within(session, LIMIT, () -> woken.free(number));
        } catch (StoreException failed) {
            if (failed.failure() == Failure.BUSY && interruptions > 0) {
                return free(session, number, interruptions - 1);
            }
            throw failed;
        }
    }

    /** {@inheritDoc} It rings the own bell. The pool would log an aborted connection as a failure. */
    @Override
    public void stopListening() {
        Long own = bell;
        if (own != null) {
            ring(own);
        }
    }

    @Override
    public void abortListening() {
        Connection open = listening;
        if (open != null) {
            background.accept(() -> {
                try {
                    open.abort(Runnable::run);
                } catch (SQLException alreadyBroken) {
                    LOG.debug("The listening connection could not be aborted", alreadyBroken);
                }
            });
        }
    }
}
