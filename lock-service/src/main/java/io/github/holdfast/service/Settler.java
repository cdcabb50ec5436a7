package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends what the database left open: a grant whose commit was not answered and that nobody waits for any more, a release
 * that did not get through. It tries at once, and then every second from a thread of its own until the row says that it is
 * done. Thread-safe.
 *
 * <p>A look at the row can prove that a write has happened, never that it will not happen later; so an unanswered write
 * is made impossible, by moving the version on that it was decided on.
 */
final class Settler implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Settler.class);

    private static final Duration STATEMENT = Duration.ofSeconds(1);
    private static final Duration PAUSE = Duration.ofSeconds(1);

    /** What is to be done with a lock's row, in a transaction of its own, until it answers that it is done. */
    private record Task(String name, Predicate<LockRepository> work, IfUnanswered ifUnanswered) {}

    private enum IfUnanswered {
        REPEAT,
        LEAVE
    }

    private final LockStore store;
    private final Queue<Task> open = new ConcurrentLinkedQueue<>();
    private final ScheduledExecutorService thread;

    Settler(LockStore store) {
        this.store = store;
        thread = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread daemon = new Thread(task, "holdfast-settler");
            daemon.setDaemon(true);
            return daemon;
        });
        Future<?> unused = thread.scheduleWithFixedDelay(
                this::settleOpen, PAUSE.toMillis(), PAUSE.toMillis(), TimeUnit.MILLISECONDS);
    }

    /**
     * Frees the lock if this owner has it, and sees to it that no write of the owner that was decided on this version
     * can happen later.
     *
     * @param owner an owner that nobody else uses; null if the row must not be freed whoever has it
     */
    void abandon(String name, @Nullable String owner, long version) {
        settle(new Task(name, locks -> isAbandoned(locks, name, owner, version), IfUnanswered.REPEAT));
    }

    private static boolean isAbandoned(LockRepository locks, String name, @Nullable String owner, long version) {
        Optional<LockSnapshot> seen = locks.read(name);
        if (seen.isEmpty()) {
            return true;
        }
        LockEntity row = seen.get().row();
        if (owner != null && owner.equals(row.owner())) {
            return locks.release(row, row.heldTimes(0));
        }
        return row.version() != version || locks.supersede(name, version);
    }

    /** Gives back one hold of a grant whose owner other processes may use too. */
    void giveBack(LockEntity grant) {
        settle(new Task(grant.name(), locks -> isGivenBack(locks, grant), IfUnanswered.LEAVE));
    }

    private static boolean isGivenBack(LockRepository locks, LockEntity grant) {
        Optional<LockEntity> row =
                locks.read(grant.name()).map(LockSnapshot::row).filter(grant::isSameGrantAs);
        return row.isEmpty() || locks.release(row.get(), row.get().released());
    }

    private void settle(Task task) {
        if (!isDone(task)) {
            LOG.warn(
                    "Lock '{}' may stay held until its lease is over: the database did not answer; trying on",
                    task.name());
            open.add(task);
        }
    }

    private void settleOpen() {
        open.removeIf(this::isDone);
    }

    private boolean isDone(Task task) {
        try {
            return store.inTransaction(STATEMENT, task.work()::test);
        } catch (StoreException failed) {
            LOG.debug("Lock '{}' is not settled yet", task.name(), failed);
            return failed.failure().isAmbiguous() && task.ifUnanswered() == IfUnanswered.LEAVE;
        } catch (RuntimeException failed) {
            // The next task must have its turn all the same, and this one again.
            LOG.error("Lock '{}' is not settled yet", task.name(), failed);
            return false;
        }
    }

    /** Tries a last time, and stops. What is open then ends with its lease. */
    @Override
    public void close() {
        thread.shutdownNow();
        settleOpen();
    }
}
