package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.Optional;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The expiry of a hold that lasts as long as its node. At first, the hold lasts no longer than its grant. {@link #confirm} notes
 * that the row still shows the grant and that reconciliations see the hold. The first beat sent after that prolongs the hold.
 * Earlier beats and reconciliations did not know the hold, and would have missed a forced release in between.
 */
final class NodeExpiry implements Expiry {

    private final Heartbeat heartbeat;
    private final Node node;
    private final long until;
    private volatile @Nullable Long confirmedAt;

    /**
     * A hold that was just granted.
     *
     * @param validFrom the local time before the granting statement was sent
     * @param validFor the shortest time that the node lived from then on, by the database's clock
     */
    NodeExpiry(Heartbeat heartbeat, Node node, long validFrom, Duration validFor) {
        this.heartbeat = heartbeat;
        this.node = node;
        this.until = Ticker.endOfLease(validFrom, validFor);
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
    public boolean isConfirmed() {
        return confirmedAt != null;
    }

    @Override
    public boolean correct(Supplier<Optional<Duration>> left) {
        // The next beat corrects the end of all holds through the node.
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
    public boolean reenter(HoldRow row, IntUnaryOperator count, @Nullable Duration atLeast, Deadline deadline)
            throws InterruptedException {
        return row.recount(count, node, deadline);
    }

    @Override
    public boolean renew(HoldRow row, IntUnaryOperator count, Duration atLeast, Deadline deadline)
            throws InterruptedException {
        if (atLeast.compareTo(node.lease()) > 0) {
            throw new IllegalArgumentException("Lock '" + row.name()
                    + "' lives as long as its node, and the node's lease of " + new ReadableDuration(node.lease())
                    + " is shorter than "
                    + new ReadableDuration(atLeast)
                    + ": build the service with a longer node lease, or acquire the lock with a lease");
        }
        return heartbeat.beatNow(node, deadline);
    }
}
