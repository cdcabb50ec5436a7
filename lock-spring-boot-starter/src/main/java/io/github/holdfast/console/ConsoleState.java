package io.github.holdfast.console;

import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockInfo;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.NodeInfo;
import io.github.holdfast.service.RunInfo;
import io.github.holdfast.service.WaiterInfo;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.json.JsonWriter;
import org.springframework.boot.json.JsonWriter.Members;
import org.springframework.boot.json.WritableJson;

/**
 * What the page shows. As JSON that does not depend on how the application writes its own: times are the database's, durations
 * milliseconds, for the page to count on from.
 *
 * @param clock the database's, before all others were read
 * @param held from a name on
 * @param nextHeld the name with which the next page of held locks begins; null if this is the last
 */
record ConsoleState(
        Instant clock,
        String process,
        List<LockInfo> held,
        @Nullable String nextHeld,
        Part<NodeInfo> nodes,
        Part<RunInfo> runs,
        Part<WaiterInfo> waiters,
        Part<RecentLosses.Loss> losses) {

    /** How many of each are shown. */
    static final int PAGE_SIZE = 100;

    /** @param more how many are not shown */
    record Part<T>(List<T> entries, int more) {

        static <T> Part<T> of(List<T> all) {
            int shown = Math.min(all.size(), PAGE_SIZE);
            return new Part<>(all.subList(0, shown), all.size() - shown);
        }

        private static <T> Part<T> of(List<T> all, Comparator<T> order) {
            return of(all.stream().sorted(order).toList());
        }
    }

    /**
     * Asks the database, five statements at the most.
     *
     * @param from the first name that is of interest; all of them if it is empty
     * @throws IllegalArgumentException if it is no name
     */
    static ConsoleState of(LockService locks, RecentLosses losses, String from) {
        LockAdmin admin = locks.admin();
        Instant clock = admin.databaseClock();
        Stream<LockInfo> first = from.isEmpty() ? Stream.empty() : locks.find(from).stream();
        List<LockInfo> held =
                Stream.concat(first, admin.held(from, PAGE_SIZE + 1).stream()).toList();
        boolean isLast = held.size() <= PAGE_SIZE;
        return new ConsoleState(
                clock,
                admin.process(),
                isLast ? held : held.subList(0, PAGE_SIZE),
                isLast ? null : held.get(PAGE_SIZE).name(),
                Part.of(admin.nodes("", LockAdmin.MAX_PAGE_SIZE), LIVING_AND_NEW_ONES_FIRST),
                Part.of(admin.lastRuns("", LockAdmin.MAX_PAGE_SIZE), NEW_ONES_FIRST),
                Part.of(admin.waiters()),
                Part.of(losses.lastFirst()));
    }

    private static final Comparator<NodeInfo> LIVING_AND_NEW_ONES_FIRST = Comparator.comparing(NodeInfo::isAlive)
            .thenComparing(NodeInfo::startedAt)
            .reversed();

    private static final Comparator<RunInfo> NEW_ONES_FIRST =
            Comparator.comparing(RunInfo::begunAt).reversed();

    void addTo(Members<?> json) {
        json.add("clock", clock);
        json.add("process", process);
        json.add("nextHeld", nextHeld);
        json.add("held", json(held, this::lock));
        json.add("nodes", json(nodes, this::node));
        json.add("runs", json(runs, this::run));
        json.add("waiters", json(waiters, ConsoleState::waiter));
        json.add("losses", json(losses, ConsoleState::loss));
    }

    private static <T> WritableJson json(Part<T> part, BiConsumer<Members<?>, T> view) {
        return object(members -> {
            members.add("entries", json(part.entries(), view));
            members.add("more", part.more());
        });
    }

    private static <T> List<WritableJson> json(List<T> entries, BiConsumer<Members<?>, T> view) {
        return entries.stream()
                .map(entry -> object(members -> view.accept(members, entry)))
                .toList();
    }

    /** One object, with what is added to it. */
    static WritableJson object(Consumer<Members<?>> content) {
        return JsonWriter.<Boolean>of(content::accept).write(true);
    }

    private void lock(Members<?> json, LockInfo lock) {
        json.add("name", lock.name());
        json.add("owner", lock.owner());
        json.add("holder", lock.holder());
        json.add("isKeptByNode", lock.nodeId() != null);
        // As text: the page's numbers are exact up to 2^53 only.
        json.add("fencingToken", Long.toString(lock.fencingToken()));
        json.add("holdCount", lock.holdCount());
        json.add("acquiredAt", lock.acquiredAt());
        json.add("heldFor", untilNow(lock.acquiredAt()));
        json.add("expiresIn", lock.expiresIn().toMillis());
    }

    private void node(Members<?> json, NodeInfo node) {
        json.add("id", node.id());
        json.add("description", node.description());
        json.add("isAlive", node.isAlive());
        json.add("isStopped", node.isStopped());
        json.add("startedAt", node.startedAt());
        json.add("startedAgo", untilNow(node.startedAt()));
        json.add("expiresIn", node.expiresIn().toMillis());
    }

    private void run(Members<?> json, RunInfo run) {
        Instant end = run.endedAt();
        json.add("name", run.name());
        json.add("fencingToken", Long.toString(run.fencingToken()));
        json.add("status", run.status().name());
        json.add("holder", run.holder());
        json.add("begunAt", run.begunAt());
        json.add("begunAgo", untilNow(run.begunAt()));
        json.add(
                "took",
                end == null
                        ? untilNow(run.begunAt())
                        : Duration.between(run.begunAt(), end).toMillis());
        json.add("hasEnded", end != null);
        json.add("error", run.error());
    }

    private static void waiter(Members<?> json, WaiterInfo waiter) {
        json.add("name", waiter.name());
        json.add("holder", waiter.holder());
        json.add("waited", waiter.waited().toMillis());
    }

    private static void loss(Members<?> json, RecentLosses.Loss loss) {
        json.add("name", loss.loss().lockName());
        json.add("owner", loss.loss().owner());
        json.add("fencingToken", Long.toString(loss.loss().fencingToken()));
        json.add("cause", loss.loss().cause().name());
        json.add("ago", loss.ago().toMillis());
    }

    /** What happened between the statements has just happened. */
    private long untilNow(Instant then) {
        return Math.max(0, Duration.between(then, clock).toMillis());
    }
}
