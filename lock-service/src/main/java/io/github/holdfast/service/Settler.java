package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends what the database left open: a grant whose commit was not answered and that nobody waits for any more, a release
 * that did not get through. It tries at once, and then from a thread of its own until the row says that it is done.
 *
 * <p>A look at the row can prove that a write has happened, never that it will not happen later; so an unanswered write
 * is made impossible, by moving the version on that it was decided on.
 */
final class Settler implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Settler.class);

    private static final Duration STATEMENT = Duration.ofSeconds(1);
    private static final Duration PAUSE = Duration.ofSeconds(1);

    private final LockStore store;
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread daemon = new Thread(task, "holdfast-settler");
        daemon.setDaemon(true);
        return daemon;
    });

    Settler(LockStore store) {
        this.store = store;
    }

    /**
     * Frees the lock if this owner has it, and sees to it that no write of the owner that was decided on this version
     * can happen later.
     *
     * @param owner an owner that nobody else uses; null if the row must not be freed whoever has it
     */
    void abandon(String name, @Nullable String owner, long version) {
        settle(name, locks -> {
            Optional<LockSnapshot> seen = locks.read(name);
            if (seen.isEmpty()) {
                return true;
            }
            LockEntity row = seen.get().row();
            if (owner != null && owner.equals(row.owner())) {
                return locks.release(row, row.heldTimes(0));
            }
            return row.version() != version || locks.supersede(name, version);
        });
    }

    /** Gives back one hold of a grant whose owner other processes may use too. */
    void giveBack(LockEntity grant) {
        later(
                grant.name(),
                locks -> {
                    Optional<LockEntity> row =
                            locks.read(grant.name()).map(LockSnapshot::row).filter(grant::isSameGrantAs);
                    return row.isEmpty() || locks.release(row.get(), row.get().released());
                },
                failed -> failed.failure().isAmbiguous());
    }

    private void settle(String name, Predicate<LockRepository> work) {
        if (!isDone(name, work, failed -> false)) {
            later(name, work, failed -> false);
        }
    }

    private void later(String name, Predicate<LockRepository> work, Predicate<StoreException> counts) {
        try {
            Future<?> unused = thread.schedule(
                    () -> {
                        if (!isDone(name, work, counts)) {
                            later(name, work, counts);
                        }
                    },
                    PAUSE.toMillis(),
                    TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException closed) {
            LOG.warn("Lock '{}' may stay held until its lease is over: the service is closed", name);
        }
    }

    private boolean isDone(String name, Predicate<LockRepository> work, Predicate<StoreException> countsAsDone) {
        try {
            return store.inTransaction(STATEMENT, work::test);
        } catch (StoreException failed) {
            LOG.warn("Lock '{}' may stay held until its lease is over: {}", name, failed.getMessage(), failed);
            return countsAsDone.test(failed);
        } catch (RuntimeException failed) {
            LOG.error("Lock '{}' may stay held until its lease is over", name, failed);
            return true;
        }
    }

    /** Stops trying. */
    @Override
    public void close() {
        thread.shutdownNow();
    }
}
