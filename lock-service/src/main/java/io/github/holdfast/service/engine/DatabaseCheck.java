package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.LockTables.LockSnapshot;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks how the database behaves when two connections change one row, whatever it is called. Two threads grant the same lock, and the
 * second one begins while the first one's transaction is open. With the statements of an acquisition, it takes about ten.
 */
final class DatabaseCheck {

    private static final Logger LOG = LoggerFactory.getLogger(DatabaseCheck.class);

    /** Conflicts with others, and internal errors of H2, can make the check fail, so it is repeated. */
    private static final int ATTEMPTS = 10;

    /** How long a statement may take. */
    private static final Duration AT_MOST = Duration.ofSeconds(5);

    /** How long the check may take, with waits for connections, and for commits that nothing cancels. */
    private static final Duration LONGEST = Duration.ofSeconds(15);

    /** How long the first writer waits until the second one has a connection. A pool may have only one. */
    private static final Duration CONNECTED = Duration.ofMillis(150);

    /** How long the second writer may write in spite of the first. A slower one is noticed by what it has written. */
    private static final Duration WAITS = Duration.ofMillis(20);

    private static final Duration LEASE = Duration.ofSeconds(1);

    private static final String ONE_SERVER = "let all connections lead to one server that writes";

    private final LockStore store;
    private final Duration clockTolerance;
    private final Set<DatabaseRisk> accepted;
    private final Executor background;

    /**
     * Creates the check.
     *
     * @param clockTolerance by how much the clocks of two connections may differ
     * @param accepted the risks that only an INFO names
     * @param background runs the writers, each on a thread of its own, like those of the service
     */
    DatabaseCheck(LockStore store, Duration clockTolerance, Set<DatabaseRisk> accepted, Executor background) {
        this.store = store;
        this.clockTolerance = clockTolerance;
        this.accepted = accepted;
        this.background = background;
    }

    /**
     * Runs the check; leaves nothing behind. If the database does not answer in time, as without its synchronous standby, the check is
     * left out: then it answers no grant either.
     */
    void run() {
        try {
            CompletableFuture.runAsync(this::inBackground, background).get(LONGEST.toSeconds(), TimeUnit.SECONDS);
        } catch (TimeoutException unanswered) {
            LogEvent.DATABASE_UNCHECKED
                    .in(LOG.atWarn())
                    .log(
                            "The database has not answered within {} s, so its behaviour is not checked. Locks can be granted when it"
                                    + " answers commits",
                            LONGEST.toSeconds());
        } catch (ExecutionException failed) {
            throw cause(failed);
        } catch (InterruptedException interrupted) {
            throw interrupted(interrupted);
        }
    }

    private static RuntimeException cause(ExecutionException failed) {
        return failed.getCause() instanceof RuntimeException thrown
                ? thrown
                : new IllegalStateException("The database cannot be checked", failed.getCause());
    }

    private static IllegalStateException interrupted(InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        return new IllegalStateException("The check of the database was interrupted", interrupted);
    }

    private void inBackground() {
        store.checkTenant();
        store.risks().forEach(this::found);
        for (int attempt = 1; ; attempt++) {
            try {
                compare();
                return;
            } catch (StoreException failed) {
                if (!failed.failure().isConflict() || attempt == ATTEMPTS) {
                    throw failed;
                }
            }
        }
    }

    private void compare() {
        String probe = "holdfast probe " + UUID.randomUUID();
        store.inTransaction(AT_MOST, locks -> locks.createIfMissing(probe));
        try {
            compare(probe);
        } finally {
            store.inTransaction(AT_MOST, () -> store.pages().purge(List.of(probe)));
        }
    }

    private void compare(String probe) {
        LockSnapshot before = read(probe);
        SecondWriter second = new SecondWriter(before.row());
        boolean isConflict = write(before.row(), second);
        boolean hasSecondWritten = second.hasWrittenWithin(LONGEST).orElseThrow(StoreException::unanswered);
        if (isConflict) {
            if (store.severalWriters().isEmpty()) {
                found(
                        DatabaseRisk.CONCURRENT_WRITES,
                        "While a transaction had changed a row, another connection changed it too, and the first one failed at"
                                + " its commit. Row locks and the check before a commit rely on the second writer's wait");
            }
        } else if (hasSecondWritten) {
            throw new IllegalStateException(
                    "Two connections changed one row, both from the same version, and the database confirmed both changes. So it"
                            + " would grant a lock twice. Use a database, a driver and a proxy that compare and count");
        }
        LockSnapshot after = read(probe);
        visible(second.seen, after, isConflict);
        clocks(before.dbNow(), second.seen, after.dbNow());
    }

    /**
     * Writes first, and lets the second writer try before the commit.
     *
     * @return whether the commit failed, because the second writer had written
     */
    private boolean write(LockEntity before, SecondWriter second) {
        LockEntity granted = before.granted("first", null, "check of the database");
        try {
            store.inTransaction(AT_MOST, locks -> {
                if (!locks.grant(before, granted, LEASE, null) || locks.grant(before, granted, LEASE, null)) {
                    throw new IllegalStateException(
                            "The database or its driver does not say truly how many rows an update has changed, so Holdfast"
                                    + " could not tell whether it has got a lock");
                }
                background.execute(second);
                second.awaitConnection();
                return second.hasWrittenWithin(WAITS);
            });
            return false;
        } catch (StoreException failed) {
            if (failed.failure().isConflict()
                    && second.hasWrittenWithin(Duration.ZERO).orElse(false)) {
                return true;
            }
            throw failed;
        }
    }

    private LockSnapshot read(String probe) {
        return store.inTransaction(AT_MOST, locks -> locks.read(probe)).orElseThrow(StoreException::invisible);
    }

    private void visible(@Nullable LockSnapshot seen, LockSnapshot after, boolean isConflict) {
        boolean isMissing =
                seen == null || !(isConflict || "first".equals(after.row().owner()));
        // The servers of such a cluster show the commits of others a moment later.
        if (isMissing && store.severalWriters().isEmpty()) {
            throw new IllegalStateException(
                    "One connection does not see what another one has committed. They seem to lead to different servers: "
                            + ONE_SERVER);
        }
    }

    private void clocks(Instant before, @Nullable LockSnapshot seen, Instant after) {
        if (seen == null) {
            return;
        }
        Duration behind = Duration.between(seen.dbNow(), before);
        Duration ahead = Duration.between(after, seen.dbNow());
        Duration difference = behind.compareTo(ahead) > 0 ? behind : ahead;
        if (difference.compareTo(clockTolerance) > 0) {
            found(
                    DatabaseRisk.CLOCK_DIFFERENCE,
                    "The database's clock differs by " + difference.toMillis()
                            + " ms between two connections, and the clock"
                            + " tolerance is " + clockTolerance.toMillis()
                            + " ms. Leases end by that clock. Synchronize the"
                            + " clocks of the servers, or " + ONE_SERVER);
        }
    }

    private void found(DatabaseRisk risk, String what) {
        if (accepted.contains(risk)) {
            LogEvent.DATABASE_RISK.in(LOG.atInfo()).log("Accepted ({}): {}", risk.property(), what);
            return;
        }
        String accept = ". If you accept this risk: holdfast.accept=" + risk.property()
                + " (or LockServiceBuilder.accept). See docs/operations.md, \"Checks at start\"";
        if (risk.isRefused()) {
            throw new IllegalStateException(what + accept);
        }
        LogEvent.DATABASE_RISK.in(LOG.atWarn()).log("{}{}", what, accept);
    }

    /** Grants the lock in a transaction of its own, from the state before the first writer. */
    private final class SecondWriter implements Runnable {

        private final LockEntity before;
        private final CountDownLatch isConnected = new CountDownLatch(1);
        private final CompletableFuture<Boolean> hasWritten = new CompletableFuture<>();

        /** Written before {@link #hasWritten} is completed. */
        private @Nullable LockSnapshot seen;

        SecondWriter(LockEntity before) {
            this.before = before;
        }

        @Override
        public void run() {
            try {
                hasWritten.complete(write());
            } catch (Throwable thrown) {
                hasWritten.completeExceptionally(thrown);
            } finally {
                isConnected.countDown();
            }
        }

        private boolean write() {
            try {
                return store.inTransaction(AT_MOST, locks -> {
                    Instant unused = store.pages().clock();
                    isConnected.countDown();
                    seen = locks.read(before.name()).orElse(null);
                    return locks.grant(before, before.granted("second", null, "check of the database"), LEASE, null);
                });
            } catch (StoreException failed) {
                if (failed.failure().isConflict() || failed.failure() == Failure.BUSY) {
                    return false;
                }
                throw failed;
            }
        }

        void awaitConnection() {
            try {
                boolean unused = isConnected.await(CONNECTED.toNanos(), TimeUnit.NANOSECONDS);
            } catch (InterruptedException interrupted) {
                throw interrupted(interrupted);
            }
        }

        /** Returns whether the second writer has written; empty if it has no answer within this time. */
        Optional<Boolean> hasWrittenWithin(Duration time) {
            try {
                return Optional.of(hasWritten.get(time.toNanos(), TimeUnit.NANOSECONDS));
            } catch (TimeoutException waits) {
                return Optional.empty();
            } catch (ExecutionException failed) {
                throw cause(failed);
            } catch (InterruptedException interrupted) {
                throw interrupted(interrupted);
            }
        }
    }
}
