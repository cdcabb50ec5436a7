package io.github.holdfast.service;

import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.LockSearchRepository;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.LockEngine;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Reads the holders of locks, exclusive or shared. Thread-safe. */
final class HeldLocks {

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final LockEngine engine;

    HeldLocks(LockEngine engine) {
        this.engine = engine;
    }

    /**
     * Returns all holders of a lock, in the order of their grants. One statement; two if the lock was last shared.
     *
     * @param name a valid name
     * @return empty if no owner holds the lock
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    List<LockInfo> of(String name) {
        engine.checkOpen();
        try {
            Optional<LockSnapshot> seen =
                    engine.untilDecided(LIMIT, () -> store().autocommit(LIMIT).read(name));
            return seen.filter(lock -> lock.row().isShared()).isPresent()
                    ? sharing(name)
                    : seen.flatMap(LockInfo::ofHeld).stream().toList();
        } catch (StoreException failed) {
            throw new LockStoreException(name, "could not be read", failed);
        }
    }

    private List<LockInfo> sharing(String name) {
        return living(engine.untilDecided(
                LIMIT,
                () -> store().inTransaction(LIMIT, () -> store().permits().holders(name))));
    }

    /**
     * Returns the work that reads the next page of held locks with their holders, as {@link LockAdmin#held} returns it. It needs a
     * transaction, and this method must not be in one.
     */
    Supplier<List<LockInfo>> page(LockFilter filter, String afterName, int limit) {
        engine.checkOpen();
        LockSearchRepository search = store().search();
        if (filter.isForAll()) {
            return () -> page(search::held, afterName, limit);
        }
        return () -> page(
                (after, count) -> search.search(
                        filter.name(),
                        after,
                        filter.end(),
                        filter.holderPattern(),
                        filter.state().name(),
                        count),
                afterName,
                limit);
    }

    /** Reads a page on if holders of shared locks have left between its statements. Otherwise, it would look like the last one. */
    private List<LockInfo> page(BiFunction<String, Integer, List<LockSnapshot>> read, String afterName, int limit) {
        List<LockInfo> page = new ArrayList<>();
        String after = afterName;
        boolean isLast = false;
        while (!isLast && page.size() < limit) {
            List<LockSnapshot> locks = read.apply(after, limit);
            List<HolderSnapshot> sharing = sharing(locks);
            String crowded = sharing.size() > OperatorCalls.MAX_PAGE_SIZE
                    ? sharing.get(OperatorCalls.MAX_PAGE_SIZE).holder().name()
                    : null;
            Map<String, List<HolderSnapshot>> holders = sharing.stream()
                    .collect(Collectors.groupingBy(seen -> seen.holder().name()));
            isLast = locks.size() < limit;
            for (LockSnapshot lock : locks) {
                after = lock.row().name();
                if (after.equals(crowded)) {
                    // The limit may have cut off some of its holders, and all those of later locks.
                    page.addAll(living(store().permits().living(List.of(after), OperatorCalls.MAX_PAGE_SIZE)));
                    isLast = false;
                    break;
                }
                page.addAll(
                        lock.row().isShared()
                                ? living(holders.getOrDefault(after, List.of()))
                                : LockInfo.ofHeld(lock).stream().toList());
            }
        }
        return page;
    }

    /** Reads the living holders of those locks that are shared, and one more than a page may have. */
    private List<HolderSnapshot> sharing(List<LockSnapshot> locks) {
        List<String> shared = locks.stream()
                .filter(lock -> lock.row().isShared())
                .map(lock -> lock.row().name())
                .toList();
        return shared.isEmpty() ? List.of() : store().permits().living(shared, OperatorCalls.MAX_PAGE_SIZE + 1);
    }

    private static List<LockInfo> living(List<HolderSnapshot> holders) {
        return holders.stream()
                .flatMap(seen -> LockInfo.ofSharing(seen).stream())
                .toList();
    }

    private LockStore store() {
        return engine.store();
    }
}
