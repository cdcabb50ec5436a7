package io.github.holdfast.sharding;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * A name that moves from one shard to another. Its lock is held on both. So it excludes holders that have it on either of them.
 * Thread-safe.
 *
 * @param present the shard that the old rule names
 * @param next the shard that the new rule names
 * @param nextTokensFrom from when on the tokens are those of the next shard, by the clock of its database
 */
record MigratingName(String name, Shard present, Shard next, Instant nextTokensFrom) {

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
        if (request.isRowLock() && isInTransaction()) {
            throw new IllegalStateException(describe() + ": the current transaction has only one of their databases, so"
                    + " it cannot hold the row locks of both. Acquire the row lock before the transaction begins");
        }
    }

    private static boolean isInTransaction() {
        return TransactionSynchronizationManager.isActualTransactionActive();
    }

    private String describe() {
        return "Lock '" + name + "' moves from shard '" + present.name() + "' to shard '" + next.name() + "'";
    }

    IllegalStateException noFence() {
        return new IllegalStateException(describe() + ": no transaction can be fenced by both");
    }

    Optional<LockHandle> tryAcquire(LockRequest request) {
        check(request);
        List<LockHandle> acquired = new ArrayList<>();
        try {
            for (Shard shard : inOrder()) {
                Optional<LockHandle> ofShard = shard.service().tryAcquire(request);
                if (ofShard.isEmpty()) {
                    Handles.release(acquired);
                    return ofShard;
                }
                acquired.add(ofShard.get());
            }
        } catch (RuntimeException | Error failed) {
            Handles.releaseAfter(failed, acquired);
            throw failed;
        }
        return paired(request, acquired);
    }

    /** Combines the handles of a request, in the order of acquisition. Returns empty if one was lost before the other was granted. */
    private Optional<LockHandle> paired(LockRequest request, List<LockHandle> acquired) {
        boolean isPresentFirst = inOrder().get(0).equals(present);
        try {
            return Optional.of(
                    pair(request, acquired.get(isPresentFirst ? 0 : 1), acquired.get(isPresentFirst ? 1 : 0)));
        } catch (LockLostException tooLate) {
            Handles.release(acquired);
            return Optional.empty();
        } catch (RuntimeException | Error failed) {
            Handles.releaseAfter(failed, acquired);
            throw failed;
        }
    }

    /**
     * Combines the handles of a request. If this fails, the caller releases them.
     *
     * @throws LockLostException if one was lost before the other was granted
     */
    LockHandle pair(LockRequest request, LockHandle ofPresent, LockHandle ofNext) {
        if (request.isRowLock()) {
            return new DualHandle(this, ofPresent, ofNext, ofPresent);
        }
        // The lease of the first ran during the wait for the second.
        return pair(ofPresent, ofNext, request.lease().orElse(Duration.ZERO).dividedBy(2));
    }

    /** Combines handles that must be valid for this long. If this fails, the caller releases them. */
    LockHandle pair(LockHandle ofPresent, LockHandle ofNext, Duration validFor) {
        List<LockHandle> both = List.of(ofPresent, ofNext);
        if (isInTransaction() && both.stream().anyMatch(handle -> handle.holdCount() > 1)) {
            // A renewal writes the row. The transaction may run under the outer hold, and its commit would then fail.
            Handles.checkRemaining(both, Duration.ZERO);
        } else {
            Handles.ensureValidFor(both, validFor);
        }
        return new DualHandle(this, ofPresent, ofNext, isTokenOfNext(ofNext.owner()) ? ofNext : ofPresent);
    }

    /**
     * Whether the grant of this owner on the next shard is late enough that its token counts. The clock of that database decides for
     * all processes, so no holder gets the token of the present shard after one that got the token of the next shard.
     *
     * <p>The row does not always show the token of the handle: a service that keeps released locks takes a block of tokens for one grant,
     * and the row shows the last of them.
     */
    private boolean isTokenOfNext(String owner) {
        return next.service().admin().holders(name).stream()
                .filter(holder -> holder.owner().equals(owner))
                .anyMatch(this::isHolderOfNext);
    }

    private boolean isHolderOfNext(LockInfo onNext) {
        return !onNext.acquiredAt().isBefore(nextTokensFrom);
    }

    /** Returns the holder on the shard whose token the holder's handle has. If there is none, returns the one on the other shard. */
    Optional<LockInfo> find() {
        Optional<LockInfo> onNext = next.service().find(name);
        return onNext.filter(this::isHolderOfNext)
                .or(() -> present.service().find(name))
                .or(() -> onNext);
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
