package io.github.holdfast.service.fence;

import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.task.TaskRequest;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** A way to hold a lock around a transaction. */
enum Hold {
    EXCLUSIVE(Trait.NODE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.holds(trial.mine().acquire(trial.request()));
        }
    },
    EXCLUSIVE_BY_LEASE(Trait.LEASE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.holds(trial.mine().acquire(trial.request().lease(LONG)));
        }
    },
    ACQUIRED_INSIDE(Trait.NODE, Trait.INSIDE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.holds(trial.mine().acquire(trial.request()));
        }
    },
    SHARED_BY_LEASE(Trait.LEASE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.holds(trial.mine().acquire(trial.request().shared().lease(LONG)));
        }
    },
    JOINED_SHARE(Trait.NODE) {
        @Override
        void acquire(Trial trial) throws Exception {
            LockRequest share = trial.request().shared();
            trial.opened(trial.elsewhere(() -> trial.mine().acquire(share)));
            trial.holds(trial.mine().acquire(share));
        }
    },
    PERMITS(Trait.NODE, Trait.SEMAPHORE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.holds(trial.mine().semaphore(permits(trial.name())).acquire());
        }
    },
    PERMITS_BY_LEASE(Trait.LEASE, Trait.SEMAPHORE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.holds(
                    trial.mine().semaphore(permits(trial.name()).lease(LONG)).acquire());
        }
    },
    SEVERAL_NAMES(Trait.NODE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.mine()
                    .acquireAll(List.of(trial.request(), LockRequest.of(trial.name() + " too")))
                    .handles()
                    .forEach(trial::holds);
        }
    },
    DROPPED_HANDLE(Trait.NODE, Trait.WITHOUT_HANDLE) {
        @Override
        void acquire(Trial trial) throws Exception {
            awaitGarbage(new WeakReference<>(trial.mine().acquire(trial.request())));
        }
    },
    DETACHED_HANDLE(Trait.NODE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.holds(trial.mine().acquire(trial.request()).detach());
        }
    },
    CALLERS_ROW_LOCK(Trait.ROW_LOCK, Trait.INSIDE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.holds(trial.mine().acquire(trial.request().rowLock()));
            trial.lockedOnCurrentConnection();
        }
    },
    OWN_ROW_LOCK(Trait.ROW_LOCK) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.lockedOnNewConnection(
                    () -> trial.holds(trial.mine().acquire(trial.request().rowLock())));
        }
    },
    DROPPED_ROW_LOCK(Trait.ROW_LOCK, Trait.WITHOUT_HANDLE) {
        @Override
        void acquire(Trial trial) throws Exception {
            trial.lockedOnNewConnection(() -> awaitGarbage(
                    new WeakReference<>(trial.mine().acquire(trial.request().rowLock()))));
        }
    },
    LEADER(Trait.NODE, Trait.CALLBACK) {
        @Override
        void around(Trial trial, Work work) throws Exception {
            trial.mine().election(ElectionRequest.of(trial.name())).runAsLeader(leadership -> {
                trial.guardedBy(leadership::guard);
                work.run();
            });
        }
    },
    TASK(Trait.NODE, Trait.CALLBACK) {
        @Override
        void around(Trial trial, Work work) throws Exception {
            var unused = trial.mine()
                    .task(TaskRequest.of(trial.name()).every(Duration.ofHours(1)))
                    .runIfDue(lock -> {
                        trial.guardedBy(lock::guard);
                        work.run();
                    });
        }
    };

    /** What the other ways have to know about one. */
    enum Trait {
        NODE,
        LEASE,
        ROW_LOCK,
        SEMAPHORE,

        /** It is acquired in the transaction. */
        INSIDE,

        /** Nobody can call {@code guard(em)}, or release it. */
        WITHOUT_HANDLE,

        /** It lasts as long as a callback. */
        CALLBACK
    }

    private static final Duration LONG = Duration.ofHours(1);

    @SuppressWarnings("ImmutableEnumChecker") // It is made by Set.of.
    private final Set<Trait> traits;

    Hold(Trait... traits) {
        this.traits = Set.of(traits);
    }

    boolean is(Trait trait) {
        return traits.contains(trait);
    }

    /** Does this work under the lock. */
    void around(Trial trial, Work work) throws Exception {
        if (!is(Trait.INSIDE)) {
            acquire(trial);
        }
        work.run();
    }

    /** Acquires the lock on the calling thread; it is released when the trial ends. */
    void acquire(Trial trial) throws Exception {
        throw new UnsupportedOperationException(name() + " lasts as long as a callback");
    }

    /** Acquires the same name alone, for another holder: by a lease, which needs no node. */
    Optional<LockHandle> tryAcquireAlone(LockService theirs, String name) {
        if (is(Trait.SEMAPHORE)) {
            return theirs.semaphore(permits(name).lease(LONG)).tryAcquire();
        }
        LockRequest request = LockRequest.of(name);
        return is(Trait.ROW_LOCK) && isRowLocked(theirs, request)
                ? Optional.empty()
                : theirs.tryAcquire(request.lease(LONG));
    }

    /** Asked by another row lock, which need not wait: MySQL and MariaDB let a grant by a lease wait for a second. */
    private static boolean isRowLocked(LockService theirs, LockRequest request) {
        Optional<LockHandle> free = theirs.tryAcquire(request.rowLock());
        free.ifPresent(LockHandle::close);
        return free.isEmpty();
    }

    private static SemaphoreRequest permits(String name) {
        return SemaphoreRequest.of(name).limit(1);
    }

    private static void awaitGarbage(WeakReference<LockHandle> handle) {
        await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(10)).until(() -> {
            System.gc();
            return handle.refersTo(null);
        });
    }
}
