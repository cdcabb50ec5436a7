package io.github.holdfast.service.engine.hold;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.LockRow;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.LockLog;
import io.github.holdfast.service.engine.runtime.SuspensionDetector;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.wait.WaiterNotifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rows of locks that this service has released, and keeps for its next acquisitions of the same names. A kept row still shows its grant,
 * so no other service acquires the lock. The next acquisition here revives the grant: it gets the next fencing token of the grant's block,
 * and sends nothing. A row is given back after a while, when another service recalls it, and when the service is closed. Thread-safe.
 *
 * <p>A revival writes nothing, and so proves nothing. Therefore it prolongs nothing: a revived hold lasts no longer than its grant until a
 * heartbeat confirms it. No grant is revived that a reconciliation may have found changed. All grants go through the row again after {@link
 * #LONGEST_RUN}, so that services whose recall was lost are found there.
 */
public final class KeptLocks implements WaiterNotifier.Keeper, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(KeptLocks.class);

    /** How many fencing tokens a grant takes whose row may be kept. */
    public static final long BLOCK = 1000;

    /** How long after a grant was written it can be revived, but never for more than a third of the node's lease. */
    private static final Duration LONGEST_RUN = Duration.ofSeconds(1);

    /** The longest pause between two checks for rows that must be given back. */
    private static final Duration LONGEST_SWEEP = Duration.ofMillis(50);

    /** No more rows are kept than this. */
    private static final int MOST = 10_000;

    /** How many rows are given back in one transaction. */
    private static final int BATCH = 64;

    /** The time limit of such a transaction. */
    private static final Duration LIMIT = Duration.ofSeconds(1);

    /** How often an acquisition checks whether a give-back under way has ended. */
    private static final Duration CHECK_OF_GIVE_BACK = Duration.ofMillis(1);

    /** How long the close waits for a give-back under way. */
    private static final Duration CLOSE_LIMIT = LIMIT.multipliedBy(5);

    /** A row that is kept: the grant for the next holder, and the local time of the release. */
    public record Kept(NewGrant.OfLock next, long since) {

        String name() {
            return row().name();
        }

        LockEntity row() {
            return next.row();
        }

        /** The row after its release. */
        LockEntity freed() {
            return row().withHoldCount(0);
        }
    }

    private final @Nullable Duration atMost;
    private final LockAccess access;
    private final Heartbeat heartbeat;
    private final PendingAcquisitions pending;
    private final Map<String, Kept> kept = new ConcurrentHashMap<>();

    /** The rows that are not kept any more, and whose release is not finished. */
    private final Map<String, Kept> givingBack = new ConcurrentHashMap<>();

    private final RecalledNames recalled;
    private final @Nullable ScheduledExecutorService thread;
    private final AtomicBoolean isSweeping = new AtomicBoolean();

    /** The local time of the last recall that named no lock. What was granted before it is not kept. */
    private volatile long recalledAt;

    private volatile boolean isClosed;

    /**
     * A keeper without rows.
     *
     * @param atMost how long a row is kept; null if none is
     */
    public KeptLocks(@Nullable Duration atMost, LockAccess access, Heartbeat heartbeat, PendingAcquisitions pending) {
        this.atMost = atMost;
        this.access = access;
        this.heartbeat = heartbeat;
        this.pending = pending;
        this.recalled = new RecalledNames(access.ticker());
        this.recalledAt = access.ticker().nanoTime() - 1;
        this.thread = atMost == null ? null : access.ticker().scheduler("holdfast-kept");
    }

    private Ticker ticker() {
        return access.ticker();
    }

    /** Whether the row of this lock may be kept after a release, as far as that is known when it is granted. */
    public boolean mayKeep(String name) {
        return atMost != null
                && !isClosed
                && access.waiterNotifier().ensureRecallable()
                && !access.waiterNotifier().isAwaitedElsewhere(name)
                && !recalled.contains(name);
    }

    /** How many rows are kept. */
    public int size() {
        return kept.size();
    }

    /**
     * Keeps the row of a hold that is being released, until it is revived or given back. The hold must still be registered.
     *
     * @param next the grant for the next holder
     * @return false if the row must be released
     */
    boolean keep(NewGrant.OfLock next) {
        String name = next.row().name();
        if (!mayKeep(name) || kept.size() >= MOST) {
            return false;
        }
        // Before the question: a reconciliation that begins after that knows the owner.
        pending.beginGrant(name, owner(next));
        if (!isRevivable(next)) {
            pending.endGrant(name, owner(next));
            return false;
        }
        Kept row = new Kept(next, ticker().nanoTime());
        kept.put(name, row);
        if (isClosed && kept.remove(name, row)) {
            pending.endGrant(name, owner(next));
            return false;
        }
        sweepLater();
        return true;
    }

    /**
     * Passes a grant on to a thread of this process that waits for its holder. The hold must still be registered.
     *
     * @param next the grant for that thread
     * @return false if the thread has left, or needs a grant of its own
     */
    boolean passOn(NewGrant.OfLock next, HandOffWaiter waiter) {
        String name = next.row().name();
        pending.beginGrant(name, owner(next));
        boolean isClaimed = isRevivable(next) && mayKeep(name) && waiter.claimFor(owner(next));
        // Before the answer: the waiter may release the lock at once, and then this service keeps it.
        pending.endGrant(name, owner(next));
        return isClaimed && waiter.answer(Optional.of(next));
    }

    private static String owner(NewGrant.OfLock grant) {
        return grant.grant().owner();
    }

    /** Whether a holder may go on with this grant without a statement: nothing can have changed its row unnoticed. */
    private boolean isRevivable(NewGrant.OfLock grant) {
        Node node = grant.node();
        long now = ticker().nanoTime();
        long run = Math.min(LONGEST_RUN.toNanos(), grant.validFor().toNanos() / 3);
        return node != null
                && now - grant.validFrom() < run
                && grant.validFrom() - recalledAt > 0
                && !SuspensionDetector.havePartedSince(ticker(), grant.clockDifference())
                && node.left(now) > 0
                && node.untilSuspect(now) > 0
                && heartbeat.isQuietSince(grant.reconciliations());
    }

    /**
     * Revives the grant of a row that is kept. If that is not allowed any more, gives the row back.
     *
     * @param acquisition goes on as the owner of the grant
     * @return the grant; empty if the lock must be acquired from the database
     */
    public Optional<NewGrant.OfLock> revive(String name, Heir acquisition) {
        Kept row = kept.get(name);
        if (row != null && !isRevivable(row.next())) {
            giveBack(name);
        } else if (row != null && kept.remove(name, row)) {
            // In this order: a reconciliation finds the owner at one of them, until the hold is registered.
            acquisition.continueAs(owner(row.next()));
            pending.endGrant(name, owner(row.next()));
            return Optional.of(row.next());
        }
        return Optional.empty();
    }

    /** Returns the row of a lock that is kept, or is being given back; null if there is none. */
    public @Nullable Kept find(String name) {
        Kept row = kept.get(name);
        return row == null ? givingBack.get(name) : row;
    }

    /**
     * Gives a row back now, if it is still kept. If another thread does that, waits for it.
     *
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    public void finish(Kept row, Deadline deadline) throws InterruptedException {
        while (row.equals(find(row.name())) && !deadline.isOver()) {
            if (claim(row)) {
                giveBack(row);
            } else {
                deadline.pauseFor(CHECK_OF_GIVE_BACK);
            }
        }
    }

    /** Removes a row, to give it back. Returns false if another thread gives it back, or has revived it. */
    private boolean claim(Kept row) {
        // In this order: until its release is finished, the row is in one of the maps.
        Kept other = givingBack.putIfAbsent(row.name(), row);
        // An earlier row was released, or this one would not have been granted. Only the answer is still to come.
        if (other != null && (other.equals(row) || !givingBack.replace(row.name(), other, row))) {
            return false;
        }
        if (kept.remove(row.name(), row)) {
            return true;
        }
        givingBack.remove(row.name(), row);
        return false;
    }

    /** An acquisition that can go on with a grant. */
    public interface Heir {

        /** Makes it an acquisition of this owner. */
        void continueAs(String owner);
    }

    /** Gives the row of a lock back now, if it is kept. One statement then. */
    public void giveBack(String name) {
        Kept row = kept.get(name);
        if (row != null && claim(row)) {
            giveBack(row);
        }
    }

    /**
     * Asks the holder of a lock for it, in case it only keeps the row. Does not wait for that.
     *
     * @param held the row, as it was read
     * @return whether the lock may be free soon for that reason
     */
    public boolean recall(LockEntity held) {
        String holder = held.nodeId();
        if (atMost == null || holder == null) {
            return false;
        }
        Node own = heartbeat.current();
        if (own == null || !own.id().equals(holder)) {
            access.waiterNotifier().recall(held.name(), holder);
            return true;
        }
        return kept.containsKey(held.name()) && soon(() -> giveBack(held.name()));
    }

    @Override
    public boolean recalled(String name) {
        if (atMost == null) {
            return false;
        }
        recalled.add(name);
        return kept.containsKey(name) && soon(() -> giveBack(name));
    }

    @Override
    public void recalledAny() {
        recalledAt = ticker().nanoTime();
        if (!kept.isEmpty()) {
            boolean unused = soon(() -> giveBack(List.copyOf(kept.values())));
        }
    }

    private boolean soon(Runnable work) {
        ScheduledExecutorService background = thread;
        if (background == null) {
            return false;
        }
        try {
            background.execute(() -> logged(work));
            return true;
        } catch (RejectedExecutionException closed) {
            return false;
        }
    }

    private static void logged(Runnable work) {
        try {
            work.run();
        } catch (RuntimeException | Error failed) {
            LockLog.notGivenBack(failed);
        }
    }

    private void sweepLater() {
        ScheduledExecutorService background = thread;
        Duration usual = atMost;
        if (background == null || usual == null || !isSweeping.compareAndSet(false, true)) {
            return;
        }
        try {
            var unused = background.schedule(
                    () -> logged(this::sweep),
                    Math.max(1, Math.min(usual.toNanos() / 2, LONGEST_SWEEP.toNanos())),
                    TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException closed) {
            LOG.debug("Rows that were kept are given back by the close of the lock service");
        }
    }

    /** Gives the rows back that were kept for long enough, or that cannot be revived. */
    private void sweep() {
        // Before the check: a row that is kept later finds no sweep, and begins one.
        isSweeping.set(false);
        long now = ticker().nanoTime();
        long longest = atMost == null ? 0 : atMost.toNanos();
        giveBack(kept.values().stream()
                .filter(row -> now - row.since() >= longest || !isRevivable(row.next()))
                .toList());
        if (!kept.isEmpty()) {
            sweepLater();
        }
    }

    /** Gives rows back that are still kept, in transactions of several. Stops when the database fails; the rows are settled later then. */
    private void giveBack(List<Kept> rows) {
        // Two transactions that lock rows in the same order do not block each other.
        List<Kept> sorted =
                rows.stream().sorted(Comparator.comparing(Kept::name)).toList();
        boolean isAnswered = true;
        for (int i = 0; i < sorted.size(); i += BATCH) {
            List<Kept> claimed = sorted.subList(i, Math.min(i + BATCH, sorted.size())).stream()
                    .filter(this::claim)
                    .toList();
            isAnswered = isAnswered && (claimed.isEmpty() || giveBackTogether(claimed));
            if (!isAnswered) {
                claimed.forEach(row -> logged(() -> abandon(row)));
            }
        }
    }

    /** Returns false if the database failed. */
    private boolean giveBackTogether(List<Kept> claimed) {
        List<Kept> released = new ArrayList<>();
        // Another service may have changed the version of these, and nothing else.
        List<Kept> missed = new ArrayList<>();
        try {
            boolean unused = access.store().inTransaction(LIMIT, locks -> {
                for (Kept row : claimed) {
                    (locks.releaseAndWake(row.row(), row.freed()) ? released : missed).add(row);
                }
                return true;
            });
        } catch (StoreException failed) {
            // One of them may be locked, or the commit had no answer.
            LOG.debug("Rows that were kept are given back one by one", failed);
            return false;
        } catch (RuntimeException | Error failed) {
            LockLog.notGivenBack(failed);
            return false;
        }
        released.forEach(row -> logged(() -> ended(row, row.freed())));
        missed.forEach(row -> logged(() -> settle(row)));
        return true;
    }

    /** Settles one row. Later if the service is being closed, which must not wait for each of many. */
    private void settle(Kept claimed) {
        if (isClosed) {
            abandon(claimed);
        } else {
            giveBack(claimed);
        }
    }

    private void abandon(Kept claimed) {
        try {
            new LockRow(access, claimed.row(), false).abandon();
        } finally {
            ended(claimed, claimed.row());
        }
    }

    /** Releases one row that was claimed. A release without an answer is settled as any other. */
    private void giveBack(Kept claimed) {
        LockRow row = new LockRow(access, claimed.row(), false);
        try {
            ReleaseOutcome unused = row.release();
        } finally {
            ended(claimed, row.current());
        }
    }

    private void ended(Kept row, LockEntity last) {
        givingBack.remove(last.name(), row);
        pending.endGrant(last.name(), owner(row.next()));
        if (last.owner() == null) {
            access.freeRows().released(last, ticker().nanoTime());
        }
        access.lockReleased(last.name());
    }

    /** Gives all rows back. From now on, none is kept. */
    @Override
    public void close() {
        isClosed = true;
        ScheduledExecutorService background = thread;
        if (background != null) {
            if (background instanceof ScheduledThreadPoolExecutor pool) {
                pool.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
            }
            background.shutdown();
            logged(() -> giveBack(List.copyOf(kept.values())));
            boolean unused = Background.awaitEnd(background, CLOSE_LIMIT);
        }
    }
}
