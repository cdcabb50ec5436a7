package io.github.holdfast.router;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * A name that moves from one shard to another. Its lock is held on both. So it excludes holders who have it on either of them.
 * Thread-safe.
 *
 * @param present the shard that the old rule names
 * @param next the shard that the new rule names
 * @param nextTokensFrom from when on the tokens are those of the next shard, by the clock of its database
 */
record MovingName(String name, Shard present, Shard next, Instant nextTokensFrom) {

    /** A shard and its service. */
    record Shard(String name, LockService service) {}

    /** Returns both shards in the order of their names, which is the order of acquisition. */
    private List<Shard> inOrder() {
        return present.name().compareTo(next.name()) < 0 ? List.of(present, next) : List.of(next, present);
    }

    /** Refuses what cannot be promised while the name moves. */
    void check(LockRequest request) {
        if (request.isFenceRequired()) {
            throw noFence();
        }
    }

    IllegalStateException noFence() {
        return new IllegalStateException("Lock '" + name + "' moves from shard '" + present.name() + "' to shard '"
                + next.name() + "': no transaction can be fenced by both");
    }

    Optional<LockHandle> tryAcquire(LockRequest request) {
        check(request);
        Shard first = inOrder().get(0);
        Shard second = inOrder().get(1);
        Optional<LockHandle> ofFirst = first.service().tryAcquire(request);
        if (ofFirst.isEmpty()) {
            return ofFirst;
        }
        LockHandle held = ofFirst.get();
        Optional<LockHandle> ofSecond = Optional.empty();
        try {
            ofSecond = second.service().tryAcquire(request);
            if (ofSecond.isPresent()) {
                LockHandle other = ofSecond.get();
                return Optional.of(first.equals(present) ? pair(request, held, other) : pair(request, other, held));
            }
        } catch (RuntimeException | Error failed) {
            ofSecond.ifPresent(LockHandle::release);
            held.release();
            throw failed;
        }
        held.release();
        return Optional.empty();
    }

    /** Combines the handles of a request. If this fails, the caller releases them. */
    LockHandle pair(LockRequest request, LockHandle ofPresent, LockHandle ofNext) {
        if (request.isRowLock()) {
            return new PairedHandle(this, ofPresent, ofNext, ofPresent);
        }
        // The lease of the first ran during the wait for the second.
        return pair(ofPresent, ofNext, request.lease().orElse(Duration.ZERO).dividedBy(2));
    }

    /** Combines handles that must be valid for this long. If this fails, the caller releases them. */
    LockHandle pair(LockHandle ofPresent, LockHandle ofNext, Duration validFor) {
        ofPresent.ensureValidFor(validFor);
        ofNext.ensureValidFor(validFor);
        return new PairedHandle(this, ofPresent, ofNext, isTokenOfNext(ofNext.fencingToken()) ? ofNext : ofPresent);
    }

    /**
     * Whether the grant with this token on the next shard is late enough that its token counts. The clock of that database decides for
     * all processes, so no holder gets the token of the present shard after one that got the token of the next shard.
     */
    private boolean isTokenOfNext(long token) {
        return next.service().admin().holders(name).stream()
                .filter(holder -> holder.fencingToken() == token)
                .anyMatch(holder -> !holder.acquiredAt().isBefore(nextTokensFrom));
    }

    Optional<LockInfo> find() {
        return present.service().find(name).or(() -> next.service().find(name));
    }

    Lock asLock() {
        return new PairedLock(
                inOrder().get(0).service().asLock(name),
                inOrder().get(1).service().asLock(name));
    }

    ReadWriteLock asReadWriteLock() {
        return PairedLock.ReadWrite.of(
                inOrder().get(0).service().asReadWriteLock(name),
                inOrder().get(1).service().asReadWriteLock(name));
    }
}
