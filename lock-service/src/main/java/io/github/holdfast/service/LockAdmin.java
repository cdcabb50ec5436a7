package io.github.holdfast.service;

import io.github.holdfast.election.Elections;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.WaiterInfo;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.task.TaskRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Lists the locks, elections, nodes and task runs in the database, and releases locks by force. It is for operators: an application
 * should work without it. Thread-safe. {@link #semaphores} is the part for semaphores.
 *
 * <p>Pages are in the order of names or ids. Each page is one statement, but for those of {@link #held} and {@link #elections}. It reads
 * the table from the end of the previous page and locks nothing:
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

    /** The largest page size. */
    public static final int MAX_PAGE_SIZE = OperatorCalls.MAX_PAGE_SIZE;

    private final LockEngine engine;
    private final OperatorCalls calls;
    private final SemaphoreAdmin semaphores;
    private final HeldLocks heldLocks;
    private final Housekeeping housekeeping;
    private final Elections elections;

    LockAdmin(LockEngine engine, HeldLocks heldLocks, Housekeeping housekeeping, Elections elections) {
        this.engine = engine;
        calls = new OperatorCalls(engine);
        semaphores = new SemaphoreAdmin(engine, calls);
        this.heldLocks = heldLocks;
        this.housekeeping = housekeeping;
        this.elections = elections;
    }

    /**
     * Returns the held locks, one page at a time. A shared lock has an entry for each of its living holders. A page never ends between
     * the holders of one lock. So it may have more entries than its limit; one with fewer is the last. It lists at most {@link
     * #MAX_PAGE_SIZE} holders of a lock, those with the oldest grants; {@link #holders} returns all.
     *
     * <p>One statement; two if shared locks are on the page, and three if more than {@link #MAX_PAGE_SIZE} holders share them.
     *
     * @param afterName the last name of the previous page; the empty string for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return in the order of their names, and then of their fencing tokens; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<LockInfo> held(String afterName, int limit) {
        return held(LockFilter.all(), afterName, limit);
    }

    /**
     * Returns the held locks that match a filter, one page at a time, like {@link #held(String, int)}. The pages end where the
     * names no longer match. Holders and states have no index: the database reads each lock until it has found enough.
     *
     * <p>One statement; two if shared locks are on the page, and three if more than {@link #MAX_PAGE_SIZE} holders share them.
     *
     * @param filter which locks
     * @param afterName the last name of the previous page; the empty string for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return in the order of their names, and then of their fencing tokens; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<LockInfo> held(LockFilter filter, String afterName, int limit) {
        OperatorCalls.checkPageSize(limit);
        return calls.read("The held locks could not be read", heldLocks.page(filter, afterName, limit));
    }

    /**
     * Returns the exclusive holder of a lock, or all holders that share it. One statement; two if the lock was last shared.
     *
     * @param name as for {@link LockRequest#of}
     * @return in the order of their grants; empty if the lock is not held
     * @throws IllegalArgumentException if the name is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<LockInfo> holders(String name) {
        return heldLocks.of(LockRequest.of(name).name());
    }

    /**
     * Returns the nodes whose threads wait for a lock or for permits. A thread appears after it has waited for a moment. It does
     * not appear if it waits for a row lock, or for another thread of its own service, or if it is a candidate that {@linkplain
     * io.github.holdfast.election.ElectionRequest#lookEvery polls at intervals}.
     *
     * <p>One statement.
     *
     * @param name as for {@link LockRequest#of}
     * @return each node once, in the order in which they began to wait; empty if no node waits
     * @throws IllegalArgumentException if the name is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<NodeInfo> waitingNodes(String name) {
        String valid = LockRequest.of(name).name();
        return waitingNodes(List.of(valid)).getOrDefault(valid, List.of());
    }

    /**
     * Returns the queues of waiters, each with the exclusive holder of its lock: the first queues in the order of their names.
     * Threads appear as in {@link #waitingNodes(String)}. One statement.
     *
     * @param limit how many waiters to read: 1 to {@link #MAX_PAGE_SIZE}. It may cut off the last queue
     * @return in the order of the names; empty if no node waits
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<QueueInfo> queues(int limit) {
        return queues("", limit);
    }

    /**
     * Returns the queue of waiters for a lock, with its exclusive holder. Threads appear as in {@link #waitingNodes(String)}. One
     * statement.
     *
     * @param name as for {@link LockRequest#of}
     * @param limit how many waiters to read: 1 to {@link #MAX_PAGE_SIZE}
     * @return empty if no node waits
     * @throws IllegalArgumentException if the name is not valid, or the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public Optional<QueueInfo> queue(String name, int limit) {
        String valid = LockRequest.of(name).name();
        return queues(valid, limit).stream().findFirst();
    }

    private List<QueueInfo> queues(String name, int limit) {
        OperatorCalls.checkPageSize(limit);
        return QueueInfo.of(calls.read(
                "The waiters could not be read", () -> store().pages().queued(name, limit)));
    }

    /**
     * Returns the recorded acts of operators on a lock or a semaphore, the latest first. One statement. The audit log has no index
     * by name, so the statement reads it all: call it for an operator, and not for each request.
     *
     * @param name as for {@link LockRequest#of}
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return empty if there is no record
     * @throws IllegalArgumentException if the name is not valid, or the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<AuditInfo> audit(String name, int limit) {
        String valid = LockRequest.of(name).name();
        OperatorCalls.checkPageSize(limit);
        return calls
                .read("The audit log could not be read", () -> store().pages().acts(valid, limit))
                .stream()
                .map(AuditInfo::of)
                .toList();
    }

    /** Returns the same as {@link #waitingNodes(String)} by the names of locks; without those for which no node waits. */
    Map<String, List<NodeInfo>> waitingNodes(Collection<String> names) {
        Map<String, Map<String, NodeInfo>> byName = new HashMap<>();
        String what = names.size() == 1 ? "'" + names.iterator().next() + "'" : names.size() + " locks";
        calls.read(
                        "The nodes that wait for " + what + " could not be read",
                        () -> store().pages().waiting(names))
                .forEach(seen -> byName.computeIfAbsent(seen.lockName(), name -> new LinkedHashMap<>())
                        .putIfAbsent(seen.node().node().id(), NodeInfo.of(seen.node())));
        return byName.entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, nodes -> List.copyOf(nodes.getValue().values())));
    }

    /**
     * Returns the elections, one page at a time: those that have a leader, on whatever node, and those in which this service has a
     * candidate.
     *
     * <p>One statement. One more if there is an election, for the nodes that wait.
     *
     * @param afterName the last name of the previous page; the empty string for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return in the order of their names; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<ElectionInfo> elections(String afterName, int limit) {
        OperatorCalls.checkPageSize(limit);
        return new ElectionPage(this, elections, store().nameOrder()).read(afterName, limit);
    }

    /** Reads the locks of leaders, one page at a time. One statement. */
    List<LockSnapshot> heldByLeaders(String afterName, int limit) {
        return calls.read(
                "The elections could not be read",
                () -> store().pages().heldThroughNodes(Elections.HOLDER_OF_LEADER, afterName, limit));
    }

    /**
     * Returns the nodes, both alive and dead, one page at a time. Housekeeping deletes the rows of old nodes.
     *
     * @param afterId the last id of the previous page; the empty string for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return in the order of their ids; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<NodeInfo> nodes(String afterId, int limit) {
        OperatorCalls.checkPageSize(limit);
        return calls.read("The nodes could not be read", () -> store().nodes().page(afterId, limit)).stream()
                .map(NodeInfo::of)
                .toList();
    }

    /**
     * Returns the last run of each task, one page at a time. Housekeeping deletes very old runs.
     *
     * @param afterName the last name of the previous page; the empty string for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return in the order of their names; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<RunInfo> lastRuns(String afterName, int limit) {
        OperatorCalls.checkPageSize(limit);
        return calls.read("The runs could not be read", () -> store().runs().lastOfEach(afterName, limit)).stream()
                .map(RunInfo::of)
                .toList();
    }

    /**
     * Returns the runs of a task, the latest first, one page at a time.
     *
     * @param name as for {@link TaskRequest#of}
     * @param beforeToken the fencing token at the end of the previous page; {@link Long#MAX_VALUE} for the first page
     * @param limit 1 to {@link #MAX_PAGE_SIZE}
     * @return empty if there are no more
     * @throws IllegalArgumentException if the name is not valid, or the limit is out of range
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public List<RunInfo> runs(String name, long beforeToken, int limit) {
        String task = TaskRequest.of(name).name();
        OperatorCalls.checkPageSize(limit);
        return calls.read("The runs could not be read", () -> store().runs().page(task, beforeToken, limit)).stream()
                .map(RunInfo::of)
                .toList();
    }

    /** Returns the number of this service's acquisitions in progress. Most of them wait. No statement. */
    public int waiting() {
        return engine.waiting();
    }

    /**
     * Returns how many fenced locks and permits this service holds whose handles became garbage, and were neither released nor
     * {@linkplain io.github.holdfast.lock.LockHandle#detach detached}. No statement.
     */
    public int dropped() {
        return engine.dropped();
    }

    /** Returns how many released locks this service {@linkplain LockServiceBuilder#keepReleased keeps} for itself. No statement. */
    public int kept() {
        return engine.kept();
    }

    /** Returns this service's acquisitions in progress, the longest wait first. No statement. */
    public List<WaiterInfo> waiters() {
        return engine.waiters().stream()
                .sorted(Comparator.comparing(WaiterInfo::waited).reversed())
                .toList();
    }

    /** Returns this process's part of the description of a lock's holder: application, process and host. */
    public String process() {
        return engine.process();
    }

    /**
     * Returns the age of the last confirmed heartbeat, counted from when it was sent, by the process's monotonic clock. In
     * normal operation, the age is less than half of the {@linkplain LockServiceBuilder#nodeLease lease of the node}. No
     * statement.
     *
     * @return the age; empty if this service has no node. A service has no node until it holds a lock without a lease, or
     *     waits for a lock for more than a moment. It also has no node after its last one has ended
     */
    public Optional<Duration> heartbeatAge() {
        return engine.heartbeatAge();
    }

    /**
     * Returns by how much the database's clock has parted from the process's monotonic clock between two reads: it was set (positive if
     * forward), another server answers, or the process was suspended. For about one {@linkplain LockServiceBuilder#nodeLease lease of the
     * node} after that, locks without a lease do not depend on that clock. No statement.
     *
     * @return the step, if it was longer than the {@linkplain LockServiceBuilder#clockTolerance clock tolerance}; zero after that time, if no
     *     read has shown a step, and where several servers write, because their clocks are not compared
     */
    public Duration clockStep() {
        return engine.clockStep();
    }

    /**
     * Returns the current time of the database's clock. This clock decides when a lease has expired. One statement.
     *
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public Instant databaseClock() {
        return calls.read(
                "The database's clock could not be read", () -> store().pages().clock());
    }

    /**
     * Releases a lock by force, even if its holder is alive. The holder's fencing token is void from now on. If the lock lives
     * as long as its node, the holder notices at the next heartbeat. If it has a lease, the holder notices at its next
     * statement for the lock.
     *
     * <p>All holders of a shared lock lose it, one after the other, each in a transaction of its own. If the method throws an exception,
     * some of them may have lost it.
     *
     * <p>The next grant waits until the holder must have noticed. If the lock has a lease, it waits until the end of the lease as
     * it stands now. If the lock lives as long as its node, it waits for one {@linkplain LockServiceBuilder#nodeLease node lease}
     * from now, the longer one of the holder's service and of this one. In both cases, the {@linkplain
     * LockServiceBuilder#clockTolerance clock tolerance} is added. If the lock was shared, other holders may go on sharing it. The
     * method adds a record for each holder to {@code lock_audit}. Not interruptible.
     *
     * <p>Six statements if the lock lives as long as its node, and three if it has a lease. For a shared lock, two, and then six or
     * four for each holder.
     *
     * @param name as for {@link LockRequest#of}
     * @param reason the reason for the record: 1 to 1000 characters, no control characters. White space around it is removed
     * @return the previous holder, or that with the oldest grant if the lock was shared; empty if it was not held
     * @throws IllegalArgumentException if the name or the reason is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed. If it did not answer the commit, the lock may be released
     *     nevertheless
     */
    public Optional<LockInfo> forceRelease(String name, String reason) {
        return forceRelease(name, holder -> true, reason);
    }

    /**
     * Releases a lock by force like {@link #forceRelease(String, String)}, but only if the grant with this token still stands. Use
     * it if you read the holder first and then decide: a later holder keeps the lock, and so do other holders that share it. The
     * statement that releases the lock compares the token.
     *
     * @param name as for {@link LockRequest#of}
     * @param fencingToken the {@linkplain LockInfo#fencingToken token} of the holder
     * @param reason the reason for the record: 1 to 1000 characters, no control characters. White space around it is removed
     * @return the previous holder; empty if that grant no longer stands, even if there are other holders
     * @throws IllegalArgumentException if the name or the reason is not valid
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed. If it did not answer the commit, the lock may be released
     *     nevertheless
     */
    public Optional<LockInfo> forceRelease(String name, long fencingToken, String reason) {
        return forceRelease(name, holder -> holder.fencingToken() == fencingToken, reason);
    }

    private Optional<LockInfo> forceRelease(String name, Predicate<LockInfo> isMeant, String reason) {
        String lockName = LockRequest.of(name).name();
        String checked = OperatorCalls.checkedReason(reason);
        return calls.change(
                lockName, "was not released by force", () -> engine.forceRelease(lockName, isMeant, checked));
    }

    /** Returns the API of operators for semaphores: always the same object. No statement. */
    public SemaphoreAdmin semaphores() {
        return semaphores;
    }

    /**
     * Runs housekeeping now, without waiting for the schedule. It ends nodes whose lease has expired, frees their locks, and marks
     * the unfinished task runs of dead processes as lost. It deletes the rows of locks and nodes that have been idle for longer
     * than the {@linkplain LockServiceBuilder#retention retention}. It also deletes the rows of runs that ended longer ago than
     * that. It keeps the last run of each task if that run began within the last 366 days. It works in batches, each in a
     * transaction of its own, and skips rows that are in use. Only one service does this at a time. If another one is at work, this
     * call waits for at most 10 seconds.
     *
     * @return the counts of changed and deleted rows
     * @throws IllegalStateException if the service is closed
     * @throws LockNotAcquiredException if another service is still at work after that
     * @throws LockStoreException if the database failed
     * @throws InterruptedException if the thread is interrupted while it waits for another service
     */
    public HousekeepingReport housekeep() throws InterruptedException {
        return housekeeping.run();
    }

    private LockStore store() {
        return engine.store();
    }

    /**
     * The result of one housekeeping run, as counts.
     *
     * @param nodesEnded the number of nodes that it ended because their lease had expired
     * @param locksFreed the number of locks that it took from dead nodes
     * @param locksPurged the number of idle locks whose rows it deleted
     * @param nodesPurged the number of dead nodes whose rows it deleted
     * @param runsLost the number of task runs that it marked as lost, usually because their process died
     * @param runsPurged the number of task runs whose rows it deleted
     */
    public record HousekeepingReport(
            int nodesEnded, int locksFreed, int locksPurged, int nodesPurged, int runsLost, int runsPurged) {}
}
