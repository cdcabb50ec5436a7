package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A hold that lasts as long as its node. Until a beat is confirmed that was sent after it was known that the grant stands and
 * that a reconciliation would see it, it lasts no longer than it would by itself: a beat, or a reconciliation, that was
 * under way meanwhile did not know of the hold, and a forced release that came in between would not have been noticed.
 */
final class NodeValidity implements Validity {

    private final Heartbeat heartbeat;
    private final Node node;
    private final long until;
    private volatile @Nullable Long confirmedAt;

    /**
     * A hold that was just granted.
     *
     * @param validFrom the local time before the statement was sent that granted it
     * @param validFor how long the node lived from then on, at least, by the database
     */
    NodeValidity(Heartbeat heartbeat, Node node, long validFrom, Duration validFor) {
        this.heartbeat = heartbeat;
        this.node = node;
        this.until = Drift.end(validFrom, validFor);
    }

    @Override
    public long left(long now) {
        long nodeLeft = node.left(now);
        Long confirmed = confirmedAt;
        return confirmed != null && node.hasBeatenSince(confirmed) ? nodeLeft : Math.min(nodeLeft, until - now);
    }

    @Override
    public void confirm(long now) {
        if (confirmedAt == null) {
            confirmedAt = now;
        }
    }

    @Override
    public boolean correct(Supplier<Optional<Duration>> left) {
        // The next beat does, for all holds of the node.
        return true;
    }

    @Override
    public long untilSuspect(long now) {
        return node.untilSuspect(now);
    }

    @Override
    public LossCause cause() {
        return node.cause();
    }

    @Override
    public void checkReentry(String name, @Nullable Duration atLeast) {
        // An inner lease changes nothing: the lock lives as long as its node.
    }

    @Override
    public boolean reenter(HeldRow row, UnaryOperator<LockEntity> next, @Nullable Duration atLeast, Patience patience)
            throws InterruptedException {
        String owner = row.owner();
        return row.write(next, LockRepository::recount, snapshot -> snapshot.isHeldBy(owner, node.id()), patience);
    }

    @Override
    public boolean renew(HeldRow row, UnaryOperator<LockEntity> next, Duration atLeast, Patience patience)
            throws InterruptedException {
        if (atLeast.compareTo(node.lease()) > 0) {
            throw new IllegalArgumentException("Lock '" + row.current().name()
                    + "' lives as long as its node, whose lease of " + node.lease() + " cannot be made to last "
                    + atLeast + ": build the service with a longer node lease, or acquire the lock with a lease");
        }
        return heartbeat.beatNow(node, patience);
    }
}
