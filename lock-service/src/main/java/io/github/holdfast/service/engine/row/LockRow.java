package io.github.holdfast.service.engine.row;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.LogEvent;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.IntUnaryOperator;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The row of a lock as its holder last wrote it, and the compare-and-sets that change it. */
public final class LockRow implements HoldRow {

    private static final Logger LOG = LoggerFactory.getLogger(LockRow.class);

    private final LockAccess access;
    private final String owner;
    private final boolean ownerIsChosen;
    private volatile LockEntity current;

    /** The row that the last write tried to store. */
    private LockEntity sent;

    /** Whether the grant to the next owner, or of a share to this one, had no answer. */
    private boolean isHandOffInDoubt;

    /** Whether an attempt of the last write is in doubt. Then the row may already show that attempt. */
    private boolean isInDoubt;

    public LockRow(LockAccess access, LockEntity granted, boolean ownerIsChosen) {
        this.access = access;
        this.owner = Objects.requireNonNull(granted.owner(), "a granted lock has an owner");
        this.current = granted;
        this.sent = granted;
        this.ownerIsChosen = ownerIsChosen;
    }

    @Override
    public String name() {
        return current.name();
    }

    @Override
    public String owner() {
        return owner;
    }

    @Override
    public int holdCount() {
        return current.holdCount();
    }

    /** Whether each write of the row was answered, so that this is the row as the database has it. */
    public boolean isKnown() {
        return !isInDoubt && !isHandOffInDoubt;
    }

    public LockEntity current() {
        return current;
    }

    /** Whether the last write freed the lock. */
    @Override
    public boolean isReleased() {
        return current.owner() == null;
    }

    /** One of the compare-and-sets of {@link LockRows}. */
    private interface CompareAndSet {
        boolean write(LockRows locks, LockEntity before, LockEntity after);
    }

    /**
     * Grants the lock to the waiting thread instead of releasing it.
     *
     * @param write writes the grant, based on the row as it was last written
     * @return empty if the lock must still be released
     */
    public Optional<NewGrant.OfLock> grantTo(BiFunction<LockRows, LockEntity, Optional<NewGrant.OfLock>> write) {
        try {
            return Deadline.uninterruptibly(
                    access.ticker(),
                    Duration.ZERO,
                    deadline -> write.apply(access.autocommit(deadline.forOneStatement()), current));
        } catch (StoreException failed) {
            isHandOffInDoubt = failed.failure().isAmbiguous();
            return Optional.empty();
        } catch (RuntimeException failed) {
            // After any failure, the lock must still be released.
            LogEvent.INTERNAL_FAILED
                    .of(current.name(), LOG.atWarn())
                    .setCause(failed)
                    .log("Lock '{}' could not be handed off to the waiting thread", current.name());
            isHandOffInDoubt = true;
            return Optional.empty();
        }
    }

    /** Writes this grant instead of releasing the lock. Returns false if the lock must still be released. */
    public boolean grantTo(Successor successor) {
        boolean isGranted = successor.write(current);
        isHandOffInDoubt = successor.isInDoubt();
        return isGranted;
    }

    @Override
    public ReleaseOutcome giveBack(int left) {
        try {
            boolean done = writeUninterruptibly(
                    row -> ownerIsChosen ? row.released() : row.withHoldCount(left), LockRows::releaseAndWake);
            if (!done && (isInDoubt || isHandOffInDoubt) && left == 0) {
                return settleRelease();
            }
            return done ? outcome(current) : ReleaseOutcome.LOST;
        } catch (StoreException failed) {
            return unresolved(failed, left);
        } catch (RuntimeException thrown) {
            if (ownerIsChosen) {
                // The transaction of the release was rolled back.
                access.inDoubtWrites().giveBack(current);
            }
            throw thrown;
        }
    }

    /**
     * Ends the grant, of which no hold exists. After any exception, abandons the row, because nothing else would settle it.
     *
     * @return as {@link #giveBack}
     */
    public ReleaseOutcome release() {
        try {
            return giveBack(0);
        } catch (RuntimeException | Error failed) {
            abandon();
            throw failed;
        }
    }

    /**
     * Finds the outcome when the row no longer shows this grant. Either an attempt in doubt has freed the lock or granted it to
     * the next owner, or an operator had already released the lock by force. A failover could undo what the row shows, until a later
     * write is answered.
     *
     * @throws StoreException if the database failed
     */
    private ReleaseOutcome settleRelease() {
        LockEntity last = current;
        return Deadline.untilDecided(
                access.ticker(),
                READ_LIMIT,
                () -> access.store().inTransaction(READ_LIMIT, locks -> {
                    if (isForced(locks, last)) {
                        return ReleaseOutcome.LOST;
                    }
                    // If an owner holds the lock now, its next write finds the new version, and reads the row again.
                    Optional<LockSnapshot> seen = locks.read(last.name());
                    if (seen.isPresent()
                            && !locks.supersede(last.name(), seen.get().row().version())) {
                        throw StoreException.overtaken();
                    }
                    return ReleaseOutcome.RELEASED;
                }));
    }

    private static boolean isForced(TransactionalLockRows locks, LockEntity last) {
        return locks.wasForced(last.name(), last.fencingToken());
    }

    private static ReleaseOutcome outcome(LockEntity written) {
        return written.owner() == null ? ReleaseOutcome.RELEASED : ReleaseOutcome.STILL_HELD;
    }

    private ReleaseOutcome unresolved(StoreException failed, int left) {
        if (!ownerIsChosen) {
            // While a handle is open, the next write corrects the count.
            if (left == 0) {
                abandon();
            }
            return ReleaseOutcome.UNRESOLVED;
        }
        if (failed.failure().isAmbiguous()) {
            // The release may have happened. A second one would release another process's hold.
            current = sent;
            return outcome(sent);
        }
        access.inDoubtWrites().giveBack(current);
        return ReleaseOutcome.UNRESOLVED;
    }

    @Override
    public void touch() {
        boolean unused = writeUninterruptibly(row -> row.withHoldCount(row.holdCount()), LockRows::recount);
    }

    @Override
    public boolean recount(IntUnaryOperator count, Node node, Deadline deadline) throws InterruptedException {
        return write(
                row -> row.withHoldCount(count.applyAsInt(row.holdCount())),
                LockRows::recount,
                snapshot -> snapshot.isHeldBy(owner, node.id()),
                deadline);
    }

    @Override
    public boolean extend(IntUnaryOperator count, Duration atLeast, Runnable sending, Deadline deadline)
            throws InterruptedException {
        return write(
                row -> row.withHoldCount(count.applyAsInt(row.holdCount())),
                (locks, before, after) -> {
                    sending.run();
                    return locks.extend(before, after, atLeast);
                },
                snapshot -> snapshot.isHeldBy(owner, null),
                deadline);
    }

    @Override
    public void abandon() {
        if (!ownerIsChosen) {
            access.inDoubtWrites().abandon(current.name(), owner, current.version());
        }
    }

    @Override
    public Optional<Duration> left() {
        LockEntity last = current;
        return access.store()
                .inTransaction(
                        READ_LIMIT,
                        locks -> locks.read(last.name())
                                .filter(seen -> seen.row().isSameGrantAs(last))
                                .map(LockSnapshot::timeUntilOver));
    }

    @Override
    public Optional<LossCause> lossCause() {
        LockEntity last = current;
        return access.store().inTransaction(READ_LIMIT, locks -> {
            if (locks.read(last.name())
                    .filter(seen -> seen.row().isSameGrantAs(last))
                    .isPresent()) {
                return Optional.empty();
            }
            return Optional.of(isForced(locks, last) ? LossCause.FORCED : LossCause.TAKEN_OVER);
        });
    }

    /**
     * Writes the row, based on the last written state. If the row has changed since, the write is based on its present state.
     *
     * @return false if the row no longer shows this grant, or is not {@code fit} for the write
     * @throws StoreException if the database did not answer in time, or refused; for a chosen owner, also at once if the outcome
     *     of the write is unknown
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    private boolean write(
            UnaryOperator<LockEntity> next, CompareAndSet change, Predicate<LockSnapshot> fit, Deadline deadline)
            throws InterruptedException {
        isInDoubt = false;
        while (true) {
            try {
                Duration atMost = deadline.forOneStatement();
                // If others use the same owner, the row cannot show afterwards whether this write happened. In a
                // transaction, a write that fails before the commit has certainly not happened.
                Optional<LockEntity> written = ownerIsChosen
                        ? access.store().inTransaction(atMost, locks -> attempt(locks, next, change, fit))
                        : attempt(access.autocommit(atMost), next, change, fit);
                written.ifPresent(after -> current = after);
                return written.isPresent();
            } catch (StoreException failed) {
                isInDoubt |= failed.failure().isAmbiguous();
                deadline.awaitRetry(failed, this::isRepeatable);
            }
        }
    }

    private boolean isRepeatable(StoreException failed) {
        return failed.failure().isTransient()
                && !(ownerIsChosen && failed.failure().isAmbiguous());
    }

    /** As {@link #write}, with a limit of {@link #WRITE_LIMIT}. */
    private boolean writeUninterruptibly(UnaryOperator<LockEntity> next, CompareAndSet change) {
        try (Deadline deadline = Deadline.uninterruptible(access.ticker(), WRITE_LIMIT)) {
            return write(next, change, snapshot -> true, deadline);
        } catch (InterruptedException thrown) {
            throw new AssertionError("An uninterruptible write was interrupted", thrown);
        }
    }

    private Optional<LockEntity> attempt(
            LockRows locks, UnaryOperator<LockEntity> next, CompareAndSet change, Predicate<LockSnapshot> fit) {
        sent = next.apply(current);
        if (change.write(locks, current, sent)) {
            return Optional.of(sent);
        }
        Optional<LockEntity> before = locks.read(current.name())
                .filter(snapshot -> snapshot.row().isSameGrantAs(current) && fit.test(snapshot))
                .map(LockSnapshot::row);
        if (before.isPresent()) {
            sent = next.apply(before.get());
            if (!change.write(locks, before.get(), sent)) {
                throw StoreException.overtaken();
            }
        }
        return before.map(written -> sent);
    }

    /** A grant that a release writes in place of the release. */
    public interface Successor {

        /**
         * Writes the grant.
         *
         * @param held the row as the holder last wrote it
         * @return whether it is granted. Otherwise, the lock must be released
         */
        boolean write(LockEntity held);

        /** Whether the grant may have been written, although no answer says so. */
        boolean isInDoubt();
    }
}
