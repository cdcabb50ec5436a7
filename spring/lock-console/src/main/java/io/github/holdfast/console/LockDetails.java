package io.github.holdfast.console;

import io.github.holdfast.console.LockConsole.RecentLosses;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.WaiterInfo;
import io.github.holdfast.semaphore.PermitInfo;
import io.github.holdfast.service.AuditInfo;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.QueueInfo;
import io.github.holdfast.service.RunInfo;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.json.JsonWriter.Members;

/**
 * All that is known of one lock: its holders, its queue of waiters, what happened, and the runs of its task.
 *
 * @param clock the database's clock, read before everything else
 * @param now the process's monotonic clock at the same time
 * @param permits the holders of permits; empty if an owner holds the lock, or it is no semaphore
 * @param queue null if no node waits
 * @param threads the threads of this process that wait, also behind another thread of it
 */
record LockDetails(
        String name,
        Instant clock,
        long now,
        String process,
        List<LockInfo> holders,
        List<PermitInfo> permits,
        @Nullable QueueInfo queue,
        List<WaiterInfo> threads,
        List<AuditInfo> acts,
        List<RunInfo> runs,
        List<RecentEvents.Event> events) {

    /** How many of each kind are shown: waiters, acts of operators and holders. Only of holders, more may be read. */
    static final int MOST = 100;

    /** How many runs are read. The calendar says where it begins. */
    static final int MOST_RUNS = 500;

    /**
     * Reads them from the database, with five statements; six if the lock was last shared, or no owner holds it. One of them reads the
     * audit log, which has no index. The page asks when a user opens the lock, and not by itself.
     *
     * @throws IllegalArgumentException if the name is not valid
     */
    static LockDetails of(LockService locks, RecentLosses losses, String name) {
        LockAdmin admin = locks.admin();
        Instant clock = admin.databaseClock();
        long now = System.nanoTime();
        List<LockInfo> holders = admin.holders(name);
        return new LockDetails(
                name,
                clock,
                now,
                admin.process(),
                holders.subList(0, Math.min(MOST, holders.size())),
                holders.isEmpty()
                        ? admin.semaphores().permits(name).stream().limit(MOST).toList()
                        : List.of(),
                admin.queue(name, MOST).orElse(null),
                admin.waiters().stream()
                        .filter(waiter -> waiter.name().equals(name))
                        .limit(MOST)
                        .toList(),
                admin.audit(name, MOST),
                admin.runs(name, Long.MAX_VALUE, MOST_RUNS),
                losses.events(name));
    }

    void addTo(Members<?> json) {
        json.add("name", name);
        json.add("clock", clock);
        json.add("process", process);
        json.add(
                "holders",
                permits.isEmpty()
                        ? ConsoleState.json(holders, (each, holder) -> HeldSection.holder(each, holder, clock))
                        : ConsoleState.json(permits, (each, permits) -> ConsoleState.permits(each, permits, clock)));
        json.add(
                "waiters",
                queue == null
                        ? List.of()
                        : ConsoleState.json(
                                queue.waiters(), (each, waiter) -> ConsoleState.waiter(each, waiter, clock)));
        json.add("threads", ConsoleState.json(threads, ConsoleState::waiter));
        json.add("acts", ConsoleState.json(acts, this::act));
        json.add("mostRuns", MOST_RUNS);
        json.add("runs", ConsoleState.json(runs, this::run));
        json.add("events", ConsoleState.json(events, this::event));
    }

    private void act(Members<?> json, AuditInfo act) {
        json.add("action", act.action());
        json.add("holder", act.holder());
        json.add("fencingToken", Long.toString(act.fencingToken()));
        json.add("at", act.doneAt());
        json.add("by", act.doneBy());
        json.add("reason", act.reason());
    }

    private void run(Members<?> json, RunInfo run) {
        Instant end = run.endedAt();
        json.add("fencingToken", Long.toString(run.fencingToken()));
        json.add("status", run.status().name());
        json.add("holder", run.holder());
        json.add("begunAt", run.begunAt());
        json.add("endedAt", end);
        json.add("error", run.error());
    }

    /** Returns the time of an event as if the database's clock had been read at that moment. */
    private void event(Members<?> json, RecentEvents.Event event) {
        json.add("kind", event.kind().name());
        json.add("fencingToken", Long.toString(event.fencingToken()));
        json.add("detail", event.detail());
        json.add("at", clock.minus(event.ago(now)));
    }
}
