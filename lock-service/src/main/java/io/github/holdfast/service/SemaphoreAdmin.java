package io.github.holdfast.service;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.semaphore.PermitInfo;
import io.github.holdfast.semaphore.SemaphoreInfo;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.engine.LockEngine;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Lists the semaphores in the database and the holders of their permits, changes limits, and releases permits by force. It is for
 * operators: an application should work without it. Thread-safe. {@link LockAdmin#semaphores} returns it.
 *
 * <p>Pages are read like those of {@link LockAdmin}.
 */
public final class SemaphoreAdmin {

    private final LockEngine engine;
    private final OperatorCalls calls;

    SemaphoreAdmin(LockEngine engine, OperatorCalls calls) {
        this.engine = engine;
        this.calls = calls;
    }

    /**
     * Returns the semaphores, one page at a time.
     *
     * @param afterName the last name of the previous page; the empty string for the first page
     * @param limit 1 to {@link LockAdmin#MAX_PAGE_SIZE}
     * @return in the order of their names; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<SemaphoreInfo> page(String afterName, int limit) {
        OperatorCalls.checkPageSize(limit);
        return calls
                .read(
                        "The semaphores could not be read",
                        () -> engine.store().permits().page(afterName, limit))
                .stream()
                .map(SemaphoreInfo::of)
                .toList();
    }

    /**
     * Returns a semaphore. One statement.
     *
     * @param name as for {@link SemaphoreRequest#of}
     * @return empty if there is no such semaphore. The first acquisition creates it
     * @throws IllegalArgumentException if the name is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public Optional<SemaphoreInfo> find(String name) {
        String semaphore = LockRequest.of(name).name();
        return calls.read(
                        "The semaphore could not be read",
                        () -> engine.store().permits().usage(semaphore))
                .map(seen -> new SemaphoreInfo(semaphore, seen.limit(), seen.used()));
    }

    /**
     * Returns the holders of permits of a semaphore, in the order of their grants. One statement.
     *
     * @param name as for {@link SemaphoreRequest#of}
     * @return empty if there is no such semaphore, or if it has no living holders
     * @throws IllegalArgumentException if the name is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<PermitInfo> permits(String name) {
        return permitsOf(List.of(LockRequest.of(name).name()), Integer.MAX_VALUE);
    }

    /**
     * Returns the holders of permits of several semaphores, in the order of their names and grants. One statement; none without names.
     *
     * @param names as for {@link SemaphoreRequest#of}; at most {@link LockAdmin#MAX_PAGE_SIZE} of them
     * @param limit how many rows of holders to read: 1 to {@link LockAdmin#MAX_PAGE_SIZE}. Those of dead holders count, but are not
     *     returned
     * @return empty if these semaphores have no living holders
     * @throws IllegalArgumentException if a name is not valid, there are too many of them, or the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<PermitInfo> permits(Collection<String> names, int limit) {
        List<String> semaphores =
                names.stream().map(name -> LockRequest.of(name).name()).toList();
        OperatorCalls.checkPageSize(limit);
        if (semaphores.size() > OperatorCalls.MAX_PAGE_SIZE) {
            throw new IllegalArgumentException("At most " + OperatorCalls.MAX_PAGE_SIZE
                    + " semaphores can be read at a time, not " + semaphores.size());
        }
        if (semaphores.isEmpty()) {
            engine.checkOpen();
            return List.of();
        }
        return permitsOf(semaphores, limit);
    }

    private List<PermitInfo> permitsOf(List<String> semaphores, int limit) {
        return calls
                .read(
                        "The holders of permits could not be read",
                        () -> engine.store().permits().holders(semaphores, limit))
                .stream()
                .flatMap(seen -> PermitInfo.ofHeld(seen).stream())
                .toList();
    }

    /**
     * Changes how many permits a semaphore has. Waiters are woken. A smaller limit takes nothing from present holders: no permits
     * are granted until enough have come back. A limit of 0 stops all grants. The method adds a record to {@code lock_audit}. It
     * needs five statements in one transaction. Not interruptible.
     *
     * @param name as for {@link SemaphoreRequest#of}
     * @param limit 0 to {@link Integer#MAX_VALUE}
     * @param reason the reason for the record: 1 to 1000 characters, no control characters. White space around it is removed
     * @return the previous limit; empty if there is no such semaphore. The first acquisition creates it
     * @throws IllegalArgumentException if the name, the limit or the reason is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed. If it did not answer the commit, the limit may be changed nevertheless
     */
    public OptionalInt setPermits(String name, int limit, String reason) {
        String semaphore = LockRequest.of(name).name();
        String checked = OperatorCalls.checkedReason(reason);
        if (limit < 0) {
            throw new IllegalArgumentException("A semaphore has 0 permits or more, not " + limit);
        }
        return calls.change(semaphore, "did not get a new limit", () -> engine.setLimit(semaphore, limit, checked));
    }

    /**
     * Takes the permits of one grant from their holder by force, even if it is alive. The holder notices as described at {@link
     * LockAdmin#forceRelease(String, String)}. Until it must have noticed, the permits count as used. The method adds a record to
     * {@code lock_audit}. Not interruptible.
     *
     * @param name as for {@link SemaphoreRequest#of}
     * @param fencingToken the {@linkplain PermitInfo#fencingToken token} of the holder
     * @param reason the reason for the record: 1 to 1000 characters, no control characters. White space around it is removed
     * @return the previous holder; empty if that grant no longer stands, or the name is not that of a semaphore
     * @throws IllegalArgumentException if the name or the reason is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed. If it did not answer the commit, the permits may be released nevertheless
     */
    public Optional<PermitInfo> forceRelease(String name, long fencingToken, String reason) {
        String semaphore = LockRequest.of(name).name();
        String checked = OperatorCalls.checkedReason(reason);
        return calls.change(
                semaphore,
                "did not get its permits back by force",
                () -> engine.forceReleasePermits(semaphore, fencingToken, checked)
                        .flatMap(PermitInfo::ofHeld));
    }
}
