package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
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

    /** How long a statement may take, and how long the check is repeated because of conflicts, and of internal errors of H2. */
    private static final Duration AT_MOST = Duration.ofSeconds(5);

    private static final Duration LEASE = Duration.ofSeconds(1);

    private static final String COUNTS =
            "The database or its driver does not report correctly how many rows an update has changed, so Holdfast"
                    + " cannot determine whether it has acquired a lock";

    private static final String ONE_SERVER = "let all connections lead to one server that writes";

    /**
     * How long the check waits.
     *
     * @param check how long the service waits for the check, which waits for connections, and for commits that nothing cancels
     * @param connection how long the first writer waits until the second one has a connection. A pool may have only one
     * @param write how long the second writer may write in spite of the first, in addition to its round trips
     */
    record Limits(Duration check, Duration connection, Duration write) {

        static final Limits USUAL = new Limits(Duration.ofSeconds(15), Duration.ofMillis(150), Duration.ofMillis(20));
    }

    private final LockStore store;
    private final Duration clockTolerance;
    private final Set<DatabaseRisk> accepted;
    private final Executor background;
    private final Limits limits;

    /**
     * Creates the check.
     *
     * @param clockTolerance by how much the clocks of two connections may differ
     * @param accepted the risks that only an INFO names
     * @param background runs the writers, each on a thread of its own, like those of the service
     */
    DatabaseCheck(
            LockStore store, Duration clockTolerance, Set<DatabaseRisk> accepted, Executor background, Limits limits) {
        this.store = store;
        this.clockTolerance = clockTolerance;
        this.accepted = accepted;
        this.background = background;
        this.limits = limits;
    }

    /**
     * Runs the check, and removes its locks. If the database does not answer in time, as without its synchronous standby, the service is
     * built without it: then no grant is answered either.
     */
    void run() {
        CompletableFuture<Void> check = CompletableFuture.runAsync(this::inBackground, background);
        try {
            check.get(limits.check().toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException unanswered) {
            unchecked();
            CompletableFuture<Void> unused = check.exceptionally(failed -> {
                LogEvent.DATABASE_RISK
                        .in(LOG.atError())
                        .setCause(failed)
                        .log("The check of the database has failed after the lock service was built");
                return null;
            });
        } catch (ExecutionException failed) {
            throw cause(failed);
        } catch (InterruptedException interrupted) {
            throw interrupted(interrupted);
        }
    }

    private void unchecked() {
        LogEvent.DATABASE_UNCHECKED
                .in(LOG.atWarn())
                .log(
                        "The behaviour of the database is not checked, because a statement, a commit or the wait for a"
                                + " connection has taken longer than {}",
                        new ReadableDuration(limits.check()));
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
        List<String> probes = new ArrayList<>();
        try {
            boolean unused = Deadline.uninterruptibly(
                    Ticker.SYSTEM,
                    AT_MOST,
                    deadline -> deadline.repeat(() -> compareOnce(probes), DatabaseCheck::isConflict));
        } catch (StoreException failed) {
            if (!failed.failure().isAmbiguous()) {
                throw failed;
            }
            unchecked();
        } finally {
            remove(probes);
        }
    }

    /** If it fails, because of many that start at once for example, housekeeping removes them later. */
    private void remove(List<String> probes) {
        try {
            int unused = store.inTransaction(AT_MOST, () -> store.pages().purge(probes));
        } catch (StoreException failed) {
            LOG.debug("The locks of the check were not removed: {}", probes, failed);
        }
    }

    private static boolean isConflict(StoreException failed) {
        return failed.failure().isConflict();
    }

    /** Compares with a new lock. Returns true; it throws if the check fails. */
    private boolean compareOnce(List<String> probes) {
        String probe = "holdfast probe " + UUID.randomUUID();
        probes.add(probe);
        store.inTransaction(AT_MOST, locks -> locks.createIfMissing(probe));
        compare(probe);
        return true;
    }

    private void compare(String probe) {
        long began = Ticker.SYSTEM.nanoTime();
        LockSnapshot before = read(probe);
        SecondWriter second = new SecondWriter(before.row());
        boolean hasWritten = write(before.row(), second, Duration.ofNanos(Ticker.SYSTEM.nanoTime() - began));
        boolean hasSecondWritten = second.hasCommitted();
        if (hasWritten && hasSecondWritten) {
            throw new IllegalStateException(
                    "Two connections changed one row, both from the same version, and the database confirmed both changes. So it"
                            + " would grant a lock twice. Use a database, a driver and a proxy that compare and count");
        }
        if (second.isTooEarly && store.severalWriters().isEmpty()) {
            found(
                    DatabaseRisk.CONCURRENT_WRITES,
                    "While a transaction had changed a row, another connection changed it too, and one of them failed at its"
                            + " commit. Row locks and the check before a commit rely on the second writer's wait");
        }
        if (!second.isTried) {
            LOG.debug("There was no connection for a second writer, so its behaviour is not checked");
            return;
        }
        LockSnapshot after = read(probe);
        visible(second.seen, after, hasWritten);
        clocks(before.dbNow(), second.seen, after.dbNow());
    }

    /**
     * Writes first, and lets the second writer try before the commit.
     *
     * @param twoRoundTrips about how long a read takes
     * @return whether the commit succeeded; it fails if the second writer was allowed to write
     */
    private boolean write(LockEntity before, SecondWriter second, Duration twoRoundTrips) {
        LockEntity granted = before.granted("first", null, "check of the database");
        try {
            store.inTransaction(AT_MOST, locks -> {
                if (!locks.grant(before, granted, LEASE, null)) {
                    throw refusedUnlessBehind(COUNTS);
                }
                if (locks.grant(before, granted, LEASE, null)) {
                    throw new IllegalStateException(COUNTS);
                }
                background.execute(second);
                second.awaitConnection();
                second.isTooEarly = second.hasGrantedWithin(limits.write().plus(twoRoundTrips.multipliedBy(2)));
                return true;
            });
            return true;
        } catch (StoreException failed) {
            if (failed.failure().isConflict() && second.isTooEarly) {
                return false;
            }
            throw failed;
        }
    }

    /** In a cluster, a node may not have the row yet, and then shows it a moment later. */
    private RuntimeException refusedUnlessBehind(String problem) {
        return store.severalWriters().isPresent() ? StoreException.overtaken() : new IllegalStateException(problem);
    }

    private LockSnapshot read(String probe) {
        return store.inTransaction(AT_MOST, locks -> locks.read(probe))
                .orElseThrow(() ->
                        store.severalWriters().isPresent() ? StoreException.overtaken() : StoreException.invisible());
    }

    private void visible(@Nullable LockSnapshot seen, LockSnapshot after, boolean hasWritten) {
        boolean isMissing =
                seen == null || (hasWritten && !"first".equals(after.row().owner()));
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
                    "The database's clock differs by %s between two connections, and the clock tolerance is %s. Leases end by"
                                    .formatted(ReadableDuration.about(difference), new ReadableDuration(clockTolerance))
                            + " that clock. Synchronize the clocks of the servers, or " + ONE_SERVER);
        }
    }

    private void found(DatabaseRisk risk, String what) {
        if (accepted.contains(risk)) {
            LogEvent.DATABASE_RISK.in(LOG.atInfo()).log("Accepted ({}): {}", risk.property(), what);
            return;
        }
        String accept = ". If you accept this risk: holdfast.accept=" + risk.property()
                + " (or LockServiceBuilder.accept). See docs/operate/operations.md, \"Checks at start\"";
        if (risk.isRefused()) {
            throw new IllegalStateException(what + accept);
        }
        LogEvent.DATABASE_RISK.in(LOG.atWarn()).log("{}{}", what, accept);
    }

    /** Grants the lock in a transaction of its own, from the state before the first writer. */
    private final class SecondWriter implements Runnable {

        private final LockEntity before;
        private final CompletableFuture<Boolean> isConnected = new CompletableFuture<>();
        private final CompletableFuture<Boolean> hasGranted = new CompletableFuture<>();
        private final CompletableFuture<Boolean> hasCommitted = new CompletableFuture<>();

        /** Whether it wrote before the first writer's commit. */
        private boolean isTooEarly;

        /** Written before {@link #hasCommitted} is completed. */
        private boolean isTried = true;

        private @Nullable LockSnapshot seen;

        SecondWriter(LockEntity before) {
            this.before = before;
        }

        @Override
        public void run() {
            try {
                hasCommitted.complete(write());
            } catch (Throwable thrown) {
                hasCommitted.completeExceptionally(thrown);
            } finally {
                hasGranted.complete(false);
                isConnected.complete(false);
            }
        }

        private boolean write() {
            try {
                return store.inTransaction(AT_MOST, locks -> {
                    Instant unused = store.pages().clock();
                    isConnected.complete(true);
                    seen = locks.read(before.name()).orElse(null);
                    boolean granted =
                            locks.grant(before, before.granted("second", null, "check of the database"), LEASE, null);
                    hasGranted.complete(granted);
                    return granted;
                });
            } catch (StoreException failed) {
                isTried = failed.failure() != Failure.EXHAUSTED;
                if (!isTried || (seen != null && isRefusal(failed.failure()))) {
                    return false;
                }
                throw failed;
            }
        }

        private static boolean isRefusal(Failure failure) {
            return failure.isConflict() || failure == Failure.BUSY;
        }

        void awaitConnection() {
            Optional<Boolean> unused = within(limits.connection(), isConnected);
        }

        /** Whether the second writer has changed the row within this time, although it may not commit. */
        boolean hasGrantedWithin(Duration time) {
            return within(time, hasGranted).orElse(false);
        }

        boolean hasCommitted() {
            return within(limits.check(), hasCommitted).orElseThrow(StoreException::unanswered);
        }

        private static Optional<Boolean> within(Duration time, CompletableFuture<Boolean> result) {
            try {
                return Optional.of(result.get(time.toNanos(), TimeUnit.NANOSECONDS));
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
