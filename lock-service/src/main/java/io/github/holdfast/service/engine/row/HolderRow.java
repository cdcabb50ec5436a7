package io.github.holdfast.service.engine.row;

import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.runtime.Deadline;
import java.time.Duration;
import java.util.Optional;
import java.util.function.IntUnaryOperator;
import java.util.function.Predicate;

/** The row of a holder of permits, or of a shared lock. Its writes name the grant, so they are safe to repeat, and harmless if they come late. */
public final class HolderRow implements HoldRow {

    private final LockAccess access;
    private final Grant grant;
    private volatile boolean isReleased;

    public HolderRow(LockAccess access, Grant grant) {
        this.access = access;
        this.grant = grant;
    }

    @Override
    public String name() {
        return grant.name();
    }

    @Override
    public String owner() {
        return grant.owner();
    }

    /** {@inheritDoc} Only the process counts nested holds of a share. */
    @Override
    public int holdCount() {
        return isReleased ? 0 : 1;
    }

    @Override
    public boolean isReleased() {
        return isReleased;
    }

    @Override
    public ReleaseOutcome giveBack(int left) {
        if (left > 0) {
            return ReleaseOutcome.STILL_HELD;
        }
        boolean[] isInDoubt = new boolean[1];
        try {
            boolean isDeleted = Deadline.uninterruptibly(
                    access.ticker(),
                    WRITE_LIMIT,
                    deadline -> deadline.repeat(() -> write(deadline, permits -> permits.release(grant)), failed -> {
                        isInDoubt[0] |= failed.failure().isAmbiguous();
                        return failed.failure().isTransient();
                    }));
            isReleased = true;
            access.waiterNotifier().wakeNext(grant.name());
            // After an attempt without an answer, the row is gone because of that attempt.
            return isDeleted || isInDoubt[0] ? ReleaseOutcome.RELEASED : ReleaseOutcome.LOST;
        } catch (StoreException failed) {
            abandon();
            return ReleaseOutcome.UNRESOLVED;
        }
    }

    @Override
    public void abandon() {
        access.inDoubtWrites().release(grant);
    }

    @Override
    public void touch() {
        boolean unused = Deadline.uninterruptibly(access.ticker(), WRITE_LIMIT, this::touch);
    }

    @Override
    public boolean recount(IntUnaryOperator count, Node node, Deadline deadline) throws InterruptedException {
        return touch(deadline);
    }

    private boolean touch(Deadline deadline) throws InterruptedException {
        return deadline.repeat(() -> write(deadline, permits -> permits.touch(grant)));
    }

    @Override
    public boolean extend(IntUnaryOperator count, Duration atLeast, Runnable sending, Deadline deadline)
            throws InterruptedException {
        return deadline.repeat(() -> {
            sending.run();
            return write(deadline, permits -> permits.extend(grant, atLeast));
        });
    }

    private boolean write(Deadline deadline, Predicate<HolderRows> statement) {
        return access.store().inTransaction(deadline.forOneStatement(), () -> statement.test(permits()));
    }

    private HolderRows permits() {
        return access.store().permits();
    }

    @Override
    public Optional<Duration> left() {
        return access.store().inTransaction(READ_LIMIT, this::seen).map(HolderSnapshot::timeUntilOver);
    }

    @Override
    public Optional<LossCause> lossCause() {
        return access.store().inTransaction(READ_LIMIT, () -> {
            if (seen().isPresent()) {
                return Optional.empty();
            }
            return Optional.of(permits().wasForced(grant) ? LossCause.FORCED : LossCause.TAKEN_OVER);
        });
    }

    private Optional<HolderSnapshot> seen() {
        return permits()
                .holder(grant.name(), grant.owner())
                .filter(holder -> holder.grant().equals(grant));
    }
}
