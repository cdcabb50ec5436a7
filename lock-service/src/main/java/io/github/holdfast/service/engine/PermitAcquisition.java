package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.PermitRows;
import io.github.holdfast.repository.PermitRows.Claim;
import io.github.holdfast.repository.PermitRows.HolderSnapshot;
import io.github.holdfast.repository.PermitRows.Usage;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.service.engine.AcquireLoop.RowListener;
import io.github.holdfast.service.engine.AttemptResult.DeadHoldersRemoved;
import io.github.holdfast.service.engine.AttemptResult.Failed;
import io.github.holdfast.service.engine.AttemptResult.HolderNodeExpired;
import io.github.holdfast.service.engine.AttemptResult.LimitTooLow;
import io.github.holdfast.service.engine.AttemptResult.LostRace;
import io.github.holdfast.service.engine.AttemptResult.PermitsGranted;
import io.github.holdfast.service.engine.AttemptResult.PermitsUsed;
import io.github.holdfast.service.engine.AttemptResult.SemaphoreMissing;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition of a semaphore's permits. Each attempt looks how many permits are left, and then writes the grant. Not
 * thread-safe.
 *
 * <p>A grant without an answer may have happened, or may still happen. The next attempt makes it impossible, and then looks whether
 * it has happened. When the loop gives up, {@link InDoubtWrites} does the same.
 */
final class PermitAcquisition implements Acquisition {

    /** How often a waiter looks for holders whose node is dead. Mostly it attempts only after the poller has seen something. */
    private static final Duration LOOK_FOR_DEAD = Duration.ofMillis(200);

    /** The time limit for the removal of a dead holder, which waits for a transaction that protects the row. */
    private static final Duration REMOVAL = Duration.ofSeconds(1);

    /** How long a waiter leaves dead holders alone after such a wait in vain. Other permits may be released meanwhile. */
    private static final Duration AFTER_PROTECTED = Duration.ofSeconds(10);

    private final HoldContext context;
    private final LockAccess access;
    private final PermitRequest request;
    private final String owner;
    private final String holder;
    private final AcquireLoop loop;
    private final long begunAt;

    /** The version that an unanswered grant was based on; null if there is none. */
    private @Nullable Long unanswered;

    /** The local time of the next look for dead holders, unless a lease ends before. */
    private long nextLookForDead;

    /** The local time until which dead holders are left alone. */
    private long leftAloneUntil;

    private boolean wasOvertaken;

    private boolean hasWaited;

    private @Nullable AttemptResult last;

    /**
     * An acquisition that has not begun.
     *
     * @param owner generated for this acquisition
     * @param holder a readable description of the holder
     */
    PermitAcquisition(HoldContext context, PermitRequest request, String owner, String holder) {
        this.context = context;
        this.access = context.access();
        this.request = request;
        this.owner = owner;
        this.holder = holder;
        WaiterTickets.Place place = access.waiterNotifier().place(request.lock().name());
        this.loop = new AcquireLoop(
                access, context.phase(), context.listeners(), context.policy(), place, RowListener.NONE);
        this.begunAt = access.ticker().nanoTime();
        this.nextLookForDead = begunAt;
        this.leftAloneUntil = begunAt;
    }

    @Override
    public String name() {
        return request.lock().name();
    }

    @Override
    public String owner() {
        return owner;
    }

    @Override
    public String holder() {
        return holder;
    }

    @Override
    public @Nullable AttemptResult last() {
        return last;
    }

    @Override
    public Optional<LeaseHold> within(Deadline deadline) throws InterruptedException {
        try {
            last = loop.repeat(deadline, this::attempt);
        } finally {
            Long version = unanswered;
            if (version != null) {
                access.inDoubtWrites().abandonPermits(name(), owner, version);
            }
        }
        if (last instanceof PermitsGranted granted) {
            HolderRow row = new HolderRow(access, granted.grant());
            LeaseHold hold = new LeaseHold(context, request.lock(), granted, row, Succession.NOBODY);
            return Optional.of(Acquisition.stillValid(hold, granted.term()));
        }
        if (last instanceof Failed failed) {
            throw new LockStoreException(
                    name(), "was not acquired, and its permits were not seen in use", failed.why());
        }
        return Optional.empty();
    }

    private AttemptResult attempt(Deadline deadline) {
        try {
            AttemptResult result = attempt(node(deadline), deadline);
            wasOvertaken = result instanceof LostRace;
            hasWaited |= result instanceof PermitsUsed;
            return result;
        } catch (StoreException failed) {
            // If a grant is unanswered, its own transaction may have locked the row.
            return unanswered == null ? loop.failed(failed, deadline) : AttemptResult.failed(failed);
        }
    }

    /** The node through which the permits are to be held; null if they get a lease. Registers one if there is none. */
    private @Nullable Node node(Deadline deadline) {
        if (request.lock().lease().isPresent()) {
            return null;
        }
        Node living = context.heartbeat().living(deadline.forOneStatement());
        living.expectPermits();
        return living;
    }

    private AttemptResult attempt(@Nullable Node node, Deadline deadline) {
        long reconciliations = context.heartbeat().reconciliations();
        if (unanswered != null) {
            Optional<PermitsGranted> settled = settle(unanswered, node, reconciliations, deadline);
            unanswered = null;
            if (settled.isPresent()) {
                return settled.get();
            }
        }
        Optional<Usage> usage = store().inTransaction(
                        deadline.forOneStatement(), () -> permits().usage(name()));
        if (usage.isEmpty()) {
            return missing(deadline);
        }
        Usage seen = usage.get();
        if (seen.limit() > 0 && seen.limit() < request.permits()) {
            return new LimitTooLow(request.permits(), seen.limit());
        }
        return seen.limit() - seen.used() < request.permits()
                ? refused(seen, deadline)
                : grant(seen, node, reconciliations, deadline);
    }

    private AttemptResult grant(Usage seen, @Nullable Node node, long reconciliations, Deadline deadline) {
        long version = seen.version();
        Duration lease = request.lock().lease().orElse(null);
        Claim claim = new Claim(name(), owner, node == null ? null : node.id(), request.permits(), lease, holder);
        long sentAt = access.ticker().nanoTime();
        Optional<Grant> granted;
        try {
            granted = store().inTransaction(
                            deadline.forOneStatement(), () -> permits().grant(claim, version));
        } catch (StoreException failed) {
            if (failed.failure().isAmbiguous()) {
                unanswered = version;
            }
            throw failed;
        } catch (RuntimeException | Error thrown) {
            // The database may have executed the commit, whatever the driver has thrown.
            unanswered = version;
            throw thrown;
        }
        if (granted.isPresent()) {
            if (hasWaited && seen.limit() - seen.used() > request.permits()) {
                // A release may have left room for several, but wakes only one service.
                access.waiterNotifier().wakeNext(name());
            }
            Duration validFor =
                    Objects.requireNonNull(node == null ? lease : node.lease(), "permits without a node have a lease");
            return new PermitsGranted(granted.get(), new GrantTerm(node, sentAt, validFor, reconciliations));
        }
        return wasOvertaken && node != null
                ? store().inTransaction(
                                deadline.forOneStatement(),
                                () -> GrantAttempt.lostRaceThrough(node, store(), context.heartbeat(), begunAt))
                : new LostRace();
    }

    /**
     * Settles a grant without an answer: makes it impossible, and then looks whether it has happened. A failover could undo what a
     * read shows, so the holder's row is written.
     *
     * @return the grant; empty if it has not happened, or its holder is dead
     */
    private Optional<PermitsGranted> settle(
            long version, @Nullable Node node, long reconciliations, Deadline deadline) {
        long askedAt = access.ticker().nanoTime();
        Optional<HolderSnapshot> granted = store().inTransaction(deadline.forOneStatement(), () -> {
            permits().supersede(name(), version);
            Optional<HolderSnapshot> mine = permits().holder(name(), owner);
            if (mine.isPresent() && !isUsable(mine.get(), node)) {
                permits().release(mine.get().grant());
                return Optional.<HolderSnapshot>empty();
            }
            return mine.filter(seen -> permits().touch(seen.grant()));
        });
        return granted.map(seen ->
                new PermitsGranted(seen.grant(), new GrantTerm(node, askedAt, seen.timeUntilOver(), reconciliations)));
    }

    private boolean isUsable(HolderSnapshot seen, @Nullable Node node) {
        return seen.state(Duration.ZERO) == LockHolder.State.ALIVE
                && Objects.equals(seen.holder().nodeId(), node == null ? null : node.id());
    }

    /**
     * Finds out why the name has no semaphore.
     *
     * @throws IllegalStateException if it is the name of a lock
     */
    private AttemptResult missing(Deadline deadline) {
        boolean isLock = access.autocommit(deadline.forOneStatement())
                .read(name())
                .filter(seen -> seen.row().permits() == null)
                .isPresent();
        if (isLock) {
            throw new IllegalStateException(
                    "'" + name() + "' is the name of a lock, so it cannot be a semaphore: choose another name");
        }
        return new SemaphoreMissing(request.limit());
    }

    /** Looks from time to time whether dead holders have permits, and removes them. */
    private AttemptResult refused(Usage seen, Deadline deadline) {
        Duration tolerance = context.policy().clockTolerance();
        Duration untilLeaseEnds = seen.timeUntilLeaseEnds(tolerance);
        boolean isLeaseOver = untilLeaseEnds != null && untilLeaseEnds.isZero();
        long now = access.ticker().nanoTime();
        if (now - leftAloneUntil < 0) {
            return new PermitsUsed(seen, Duration.ofNanos(leftAloneUntil - now));
        }
        if (!isLeaseOver && now - nextLookForDead < 0) {
            return new PermitsUsed(seen, untilLeaseEnds);
        }
        List<HolderSnapshot> holders = store().inTransaction(
                        deadline.forOneStatement(), () -> permits().holders(name()));
        for (HolderSnapshot holding : holders) {
            if (holding.state(tolerance) == LockHolder.State.NODE_EXPIRED) {
                return new HolderNodeExpired(Objects.requireNonNull(
                        holding.holder().nodeId(), "a holder of an expired node names its node"));
            }
        }
        List<LockHolder> dead = holders.stream()
                .filter(holding -> holding.state(tolerance) == LockHolder.State.DEAD)
                .map(HolderSnapshot::holder)
                .toList();
        if (dead.isEmpty()) {
            nextLookForDead = now + LOOK_FOR_DEAD.toNanos();
            return new PermitsUsed(seen, isLeaseOver ? LOOK_FOR_DEAD : untilLeaseEnds);
        }
        if (removeSome(dead, deadline)) {
            return new DeadHoldersRemoved();
        }
        leftAloneUntil = access.ticker().nanoTime() + AFTER_PROTECTED.toNanos();
        return new PermitsUsed(seen, AFTER_PROTECTED);
    }

    /**
     * Removes dead holders. After the deadline, it removes those before the first one whose row is protected.
     *
     * @return whether one was removed, by this service or another
     */
    private boolean removeSome(List<LockHolder> dead, Deadline deadline) {
        boolean isAnyRemoved = false;
        for (LockHolder holder : dead) {
            boolean isRemoved = remove(holder);
            isAnyRemoved |= isRemoved;
            if (!isRemoved && deadline.isOver()) {
                break;
            }
        }
        return isAnyRemoved;
    }

    /** Removes a dead holder. Returns false if its row is protected. */
    private boolean remove(LockHolder dead) {
        try {
            // The result is ignored: the next attempt shows whether enough permits are left.
            store().inTransaction(
                            REMOVAL,
                            () -> permits().removeDead(dead, context.policy().clockTolerance()));
            return true;
        } catch (StoreException failed) {
            if (failed.failure() != Failure.BUSY) {
                throw failed;
            }
            return false;
        }
    }

    private LockStore store() {
        return access.store();
    }

    private PermitRows permits() {
        return access.store().permits();
    }
}
