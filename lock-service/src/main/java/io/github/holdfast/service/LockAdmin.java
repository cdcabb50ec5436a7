package io.github.holdfast.service;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Looks at all locks and nodes in the database, and intervenes. For operators: an application that needs it to work has
 * another problem. Thread-safe.
 *
 * <p>Pages are in the order of names or ids. Each is one statement that reads the table from there on, and takes no lock:
 *
 * <pre>{@code
 * List<LockInfo> page = admin.held("", 100);
 * while (!page.isEmpty()) {
 *     page.forEach(System.out::println);
 *     page = admin.held(page.get(page.size() - 1).name(), 100);
 * }
 * }</pre>
 */
public final class LockAdmin {

    /** The largest page. */
    public static final int MAX_PAGE_SIZE = 1000;

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final Internals internals;
    private final Holders holders;
    private final Housekeeping housekeeping;

    LockAdmin(Internals internals, Holders holders, Housekeeping housekeeping) {
        this.internals = internals;
        this.holders = holders;
        this.housekeeping = housekeeping;
    }

    /**
     * Returns the locks that are held, by anybody.
     *
     * @param afterName the last name of the page before; the empty string for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return in the order of their names; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<LockInfo> held(String afterName, int limit) {
        checkPageSize(limit);
        return read("The held locks were not read", () -> store().table().held(afterName, limit)).stream()
                .flatMap(seen -> LockInfo.ofHeld(seen).stream())
                .toList();
    }

    /**
     * Returns the nodes, alive and dead, as long as their rows are kept.
     *
     * @param afterId the last id of the page before; the empty string for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return in the order of their ids; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<NodeInfo> nodes(String afterId, int limit) {
        checkPageSize(limit);
        return read("The nodes were not read", () -> store().nodes().page(afterId, limit)).stream()
                .map(NodeInfo::of)
                .toList();
    }

    /**
     * Returns the last run of each task, as long as its row is kept.
     *
     * @param afterName the last name of the page before; the empty string for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return in the order of their names; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<RunInfo> lastRuns(String afterName, int limit) {
        checkPageSize(limit);
        return read("The runs were not read", () -> store().runs().lastOfEach(afterName, limit)).stream()
                .map(RunInfo::of)
                .toList();
    }

    /**
     * Returns the runs of a task, the last one first.
     *
     * @param name as for {@link TaskRequest#of}
     * @param beforeToken the fencing token of the last run of the page before; {@link Long#MAX_VALUE} for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return empty if there are no more
     * @throws IllegalArgumentException if the name is not valid, or the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<RunInfo> runs(String name, long beforeToken, int limit) {
        String task = TaskRequest.of(name).name();
        checkPageSize(limit);
        return read("The runs were not read", () -> store().runs().page(task, beforeToken, limit)).stream()
                .map(RunInfo::of)
                .toList();
    }

    private static void checkPageSize(int limit) {
        if (limit < 1 || limit > MAX_PAGE_SIZE) {
            throw new IllegalArgumentException("A page has 1 to " + MAX_PAGE_SIZE + " entries, not " + limit);
        }
    }

    private <T> T read(String problem, Supplier<T> query) {
        internals.held().checkOpen();
        try {
            return Patience.untilDecided(internals.ticker(), LIMIT, () -> store().inTransaction(LIMIT, query));
        } catch (StoreException failed) {
            throw new LockStoreException(problem, failed);
        }
    }

    /** Returns how many acquisitions of this service are under way, most of them waiting. Asks no database. */
    public int waiting() {
        return internals.held().pending().size();
    }

    /** Returns the acquisitions of this service that are under way, the one that has waited longest first. Asks no database. */
    public List<WaiterInfo> waiters() {
        return internals.held().pending().stream()
                .map(Pending::info)
                .sorted(Comparator.comparing(WaiterInfo::waited).reversed())
                .toList();
    }

    /** Returns what this process is called where people look who holds a lock: application, process and host. */
    public String process() {
        return holders.process();
    }

    /**
     * Returns how long ago the last heartbeat was sent that the database has confirmed, by the process's monotonic clock.
     * While all is well, it is less than half of the {@linkplain LockServiceBuilder#nodeLease lease of the node}. Asks no
     * database.
     *
     * @return empty if this service has no node: it has neither held a lock without a lease yet nor waited for any for longer than 40
     *     milliseconds, or its last node is over
     */
    public Optional<Duration> heartbeatAge() {
        return internals.heartbeat().age();
    }

    /**
     * Returns what time it is by the database's clock, which decides whose lease is over. One statement.
     *
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public Instant databaseClock() {
        return read("The database's clock was not read", () -> store().table().clock());
    }

    /**
     * Takes a lock from its holder, who is perhaps alive and well. The holder's token is void from now on. If its lock
     * lives as long as its node, it is told within one heartbeat; if it has a lease, when it next asks the database. Nobody
     * is granted the lock before the holder must have noticed, which is when the lease as it stands now would be over; for a
     * lock that lives as long as its node, after the {@linkplain LockServiceBuilder#nodeLease node lease}, which all services
     * should have in common; in both cases the {@linkplain LockServiceBuilder#clockTolerance clock tolerance} later. A record of it is kept in {@code lock_audit}. Not interruptible.
     *
     * @param name as for {@link LockRequest#of}
     * @param reason why, for the record: 1 to 1000 characters, no control characters
     * @return who held it; empty if nobody did
     * @throws IllegalArgumentException if the name or the reason is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed; if it did not answer the commit, the lock may have been released
     */
    public Optional<LockInfo> forceRelease(String name, String reason) {
        return forceRelease(name, holder -> true, reason);
    }

    /**
     * As {@link #forceRelease(String, String)}, but from the holder that was seen, and from no later one: for whoever looks first
     * and decides then. The token is compared by the statement that takes the lock away.
     *
     * @param name as for {@link LockRequest#of}
     * @param fencingToken the {@linkplain LockInfo#fencingToken token} of the holder
     * @param reason why, for the record: 1 to 1000 characters, no control characters
     * @return who held it; empty if that grant does not stand any more, whoever holds the lock now
     * @throws IllegalArgumentException if the name or the reason is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed; if it did not answer the commit, the lock may have been released
     */
    public Optional<LockInfo> forceRelease(String name, long fencingToken, String reason) {
        return forceRelease(name, holder -> holder.fencingToken() == fencingToken, reason);
    }

    private Optional<LockInfo> forceRelease(String name, Predicate<LockInfo> isMeant, String reason) {
        String lockName = LockRequest.of(name).name();
        String checked = Names.checked("reason", reason, LockAudit.MAX_REASON_LENGTH);
        internals.held().checkOpen();
        ForcedRelease forced = new ForcedRelease(lockName, isMeant, checked);
        try {
            Optional<LockInfo> holder = Patience.uninterruptibly(
                    internals.ticker(),
                    LIMIT,
                    patience ->
                            patience.repeat(() -> store().inTransaction(patience.forOneStatement(), forced::attempt)));
            holder.ifPresent(info -> LockLog.forced(info, checked));
            return holder;
        } catch (StoreException failed) {
            throw new LockStoreException(lockName, "was not released by force", failed);
        }
    }

    /** Repeated until the database answers; what an attempt without an answer has done counts. */
    private final class ForcedRelease {

        private final String name;
        private final Predicate<LockInfo> isMeant;
        private final String reason;
        private Optional<LockInfo> sent = Optional.empty();

        /** @param isMeant from which holders it is taken */
        ForcedRelease(String name, Predicate<LockInfo> isMeant, String reason) {
            this.name = name;
            this.isMeant = isMeant;
            this.reason = reason;
        }

        Optional<LockInfo> attempt(LockRepository locks) {
            Optional<LockSnapshot> first = locks.read(name);
            if (sent.filter(info -> store().audits().wasForced(name, info.fencingToken()))
                    .isPresent()) {
                return sent;
            }
            Optional<LockInfo> holder = first.flatMap(LockInfo::ofHeld).filter(isMeant);
            holder.ifPresent(info -> force(first.orElseThrow()));
            sent = holder;
            return holder;
        }

        private void force(LockSnapshot seen) {
            LockEntity row = seen.row();
            LockEntity vacated = row.vacated();
            if (!store().vacancies().vacate(row, vacated, tolerated(seen.timeUntilOver()))) {
                throw StoreException.overtaken();
            }
            if (row.nodeId() != null) {
                alert(row.nodeId(), vacated);
            }
            store().audits().recordForcedRelease(row, holders.current(), reason);
        }

        /**
         * The next beat of the holder's node misses, so that it looks after its locks. From here on no beat extends the node's
         * lease. But a grant that no beat has followed yet lasts for a whole lease, and that of another service is not known
         * here: it is taken for the same. The lock's row is locked first: who waits for that must not keep the node from
         * beating.
         */
        private void alert(String nodeId, LockEntity vacated) {
            store().nodes().alert(nodeId);
            Duration lease = internals.heartbeat().lease();
            store().nodes()
                    .read(nodeId)
                    .map(node -> node.expiresIn().compareTo(lease) > 0 ? node.expiresIn() : lease)
                    .ifPresent(believed -> store().vacancies().delay(vacated, tolerated(believed)));
        }

        /** The former holder must have noticed also if another machine becomes the database, whose clock is ahead. */
        private Duration tolerated(Duration believed) {
            return believed.plus(internals.clockTolerance());
        }
    }

    /**
     * Tidies up now, instead of waiting for the next time: ends nodes whose lease is over, frees the locks they held, finds
     * the runs of tasks that are lost, deletes the rows of locks and nodes that have been idle for longer than the retention, and
     * of runs that ended before, but for the last one of each task. In batches, each in a
     * transaction of its own, passing over rows that are in use. Only one service does it at a time; this waits for another
     * for 10 seconds at most.
     *
     * @return what was done
     * @throws IllegalStateException if the service is closed
     * @throws LockNotAcquiredException if another service is still at it
     * @throws LockStoreException if the database failed
     * @throws InterruptedException if the thread is interrupted while it waits for another service
     */
    public HousekeepingReport housekeep() throws InterruptedException {
        return housekeeping.run();
    }

    private LockStore store() {
        return internals.store();
    }
}
