package io.github.holdfast.console;

import io.github.holdfast.console.LockConsole.RecentLosses;
import io.github.holdfast.election.LeaderInfo;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.WaiterInfo;
import io.github.holdfast.semaphore.PermitInfo;
import io.github.holdfast.semaphore.SemaphoreInfo;
import io.github.holdfast.service.ElectionInfo;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.NodeInfo;
import io.github.holdfast.service.QueueInfo;
import io.github.holdfast.service.RunInfo;
import io.github.holdfast.service.SemaphoreAdmin;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.json.JsonWriter;
import org.springframework.boot.json.JsonWriter.Members;
import org.springframework.boot.json.WritableJson;

/**
 * The content of the page. Its JSON does not depend on the application's JSON settings. Times are by the database's clock.
 * Durations are in milliseconds, and the page keeps counting from them.
 *
 * @param offset the database's clock, read before everything else
 * @param heartbeatAge the age of this process's last heartbeat; null if it has no node
 * @param held the held locks that were asked for, without those of the elections
 * @param queues the queues of waiters, up to one waiter more than the page shows
 */
record ConsoleState(
        Offset offset,
        String process,
        @Nullable Duration heartbeatAge,
        HeldSection held,
        List<ElectionInfo> elections,
        Part<Semaphore> semaphores,
        Part<NodeInfo> nodes,
        Part<RunInfo> runs,
        List<QueueInfo> queues,
        Part<WaiterInfo> waiters,
        Part<RecentLosses.Loss> losses) {

    /** The number of entries of each kind on the page. */
    static final int PAGE_SIZE = 100;

    /** How many nodes, tasks or semaphores one refresh reads at most. */
    private static final int MOST_READ = 10 * LockAdmin.MAX_PAGE_SIZE;

    /**
     * The database's clock compared with this machine's. No lock depends on it.
     *
     * @param ahead how far the database's clock is ahead, to half a round trip
     */
    record Offset(Instant database, Duration ahead) {

        private static Offset of(LockAdmin admin) {
            Instant before = Instant.now();
            long sent = System.nanoTime();
            Instant database = admin.databaseClock();
            Instant between = before.plusNanos((System.nanoTime() - sent) / 2);
            return new Offset(database, Duration.between(between, database));
        }
    }

    /** @param more the number of further entries that were read, which the page omits */
    record Part<T>(List<T> entries, int more) {

        static <T> Part<T> of(List<T> all) {
            int shown = Math.min(all.size(), PAGE_SIZE);
            return new Part<>(all.subList(0, shown), all.size() - shown);
        }

        private static <T> Part<T> of(List<T> all, Comparator<T> order) {
            return of(all.stream().sorted(order).toList());
        }
    }

    /** @param holders in the order of their grants */
    record Semaphore(SemaphoreInfo info, List<PermitInfo> holders) {

        /** Returns how many of the permits in use belong to no listed holder: to a dead one, for example. */
        private long unlisted() {
            return Math.max(
                    0,
                    info.used()
                            - holders.stream().mapToLong(PermitInfo::permits).sum());
        }
    }

    /**
     * Reads the state from the database, with nine statements at most, and a few more if locks are shared, there are elections, or a
     * table has {@link LockAdmin#MAX_PAGE_SIZE} entries or more. One of them reads the holders of all shown semaphores, up to that many.
     *
     * @throws IllegalArgumentException if the query is not valid
     */
    static ConsoleState of(LockService locks, RecentLosses losses, HeldSection.Query query) {
        LockAdmin admin = locks.admin();
        Offset offset = Offset.of(admin);
        HeldSection held = HeldSection.of(admin, query);
        List<ElectionInfo> elections = admin.elections("", PAGE_SIZE);
        return new ConsoleState(
                offset,
                admin.process(),
                admin.heartbeatAge().orElse(null),
                held.without(elections),
                elections,
                semaphores(admin.semaphores()),
                Part.of(all(admin::nodes, NodeInfo::id), LIVING_AND_NEW_ONES_FIRST),
                Part.of(all(admin::lastRuns, RunInfo::name), NEW_ONES_FIRST),
                admin.queues(PAGE_SIZE + 1),
                Part.of(admin.waiters()),
                Part.of(losses.lastFirst()));
    }

    /**
     * Reads all entries, up to {@link #MOST_READ}: the first page by id or name may have none of those that are shown first.
     *
     * @param pages returns the entries after a key, up to a number
     */
    private static <T> List<T> all(BiFunction<String, Integer, List<T>> pages, Function<T, String> key) {
        List<T> all = new ArrayList<>();
        String after = "";
        boolean isLast = false;
        while (!isLast && all.size() < MOST_READ) {
            List<T> page = pages.apply(after, LockAdmin.MAX_PAGE_SIZE);
            all.addAll(page);
            isLast = page.size() < LockAdmin.MAX_PAGE_SIZE;
            after = isLast ? after : key.apply(page.get(page.size() - 1));
        }
        return all;
    }

    private static Part<Semaphore> semaphores(SemaphoreAdmin admin) {
        Part<SemaphoreInfo> all = Part.of(all(admin::page, SemaphoreInfo::name));
        List<String> used = all.entries().stream()
                .filter(semaphore -> semaphore.used() > 0)
                .map(SemaphoreInfo::name)
                .toList();
        Map<String, List<PermitInfo>> holders =
                admin.permits(used, LockAdmin.MAX_PAGE_SIZE).stream().collect(Collectors.groupingBy(PermitInfo::name));
        List<Semaphore> shown = all.entries().stream()
                .map(info -> new Semaphore(info, holders.getOrDefault(info.name(), List.of())))
                .toList();
        return new Part<>(shown, all.more());
    }

    private static final Comparator<NodeInfo> LIVING_AND_NEW_ONES_FIRST = Comparator.comparing(NodeInfo::isAlive)
            .thenComparing(NodeInfo::startedAt)
            .reversed();

    private static final Comparator<RunInfo> NEW_ONES_FIRST =
            Comparator.comparing(RunInfo::begunAt).reversed();

    void addTo(Members<?> json) {
        json.add("clock", offset.database());
        json.add("clockAhead", offset.ahead().toMillis());
        json.add("process", process);
        json.add("heartbeatAge", heartbeatAge == null ? null : heartbeatAge.toMillis());
        held.addTo(json, offset.database());
        json.add("queues", json(queues, this::queue));
        json.add("elections", json(elections, this::election));
        json.add("semaphores", json(semaphores, this::semaphore));
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

    static <T> List<WritableJson> json(List<T> entries, BiConsumer<Members<?>, T> view) {
        return entries.stream()
                .map(entry -> object(members -> view.accept(members, entry)))
                .toList();
    }

    /** Returns a JSON object with the members that {@code content} adds. */
    static WritableJson object(Consumer<Members<?>> content) {
        return JsonWriter.<Boolean>of(content::accept).write(true);
    }

    private void election(Members<?> json, ElectionInfo election) {
        LeaderInfo leader = election.leader();
        json.add("name", election.name());
        json.add("isLeader", election.isLeader());
        json.add("leader", leader == null ? null : object(members -> leader(members, leader)));
        json.add("waiting", json(election.waiting(), this::node));
    }

    private void leader(Members<?> json, LeaderInfo leader) {
        json.add("name", leader.name());
        json.add("holder", leader.candidate());
        json.add("process", leader.process());
        json.add("fencingToken", Long.toString(leader.term()));
        json.add("acquiredAt", leader.since());
        json.add("heldFor", untilNow(leader.since()));
    }

    private void semaphore(Members<?> json, Semaphore semaphore) {
        json.add("name", semaphore.info().name());
        json.add("limit", semaphore.info().limit());
        json.add("used", semaphore.info().used());
        json.add("unlisted", semaphore.unlisted());
        json.add("holders", json(semaphore.holders(), (each, permits) -> permits(each, permits, offset.database())));
    }

    static void permits(Members<?> json, PermitInfo permits, Instant clock) {
        json.add("name", permits.name());
        json.add("owner", permits.owner());
        json.add("holder", permits.holder());
        json.add("isKeptByNode", permits.nodeId() != null);
        json.add("fencingToken", Long.toString(permits.fencingToken()));
        json.add("permits", permits.permits());
        json.add("acquiredAt", permits.acquiredAt());
        json.add("heldFor", between(permits.acquiredAt(), clock));
        json.add("expiresIn", permits.expiresIn().toMillis());
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

    private void queue(Members<?> json, QueueInfo queue) {
        LockInfo holder = queue.holder();
        json.add("name", queue.name());
        json.add("holder", holder == null ? null : Objects.requireNonNullElse(holder.holder(), holder.owner()));
        json.add("heldFor", holder == null ? null : untilNow(holder.acquiredAt()));
        json.add("waiters", json(queue.waiters(), (each, waiter) -> waiter(each, waiter, offset.database())));
    }

    static void waiter(Members<?> json, QueueInfo.Waiter waiter, Instant clock) {
        json.add("node", waiter.node().description());
        json.add("nodeId", waiter.node().id());
        json.add("mode", waiter.mode().name());
        json.add("since", waiter.since());
        json.add("waited", between(waiter.since(), clock));
    }

    static void waiter(Members<?> json, WaiterInfo waiter) {
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

    private long untilNow(Instant then) {
        return between(then, offset.database());
    }

    /** An event between the statements may be later than the clock. It counts as having just happened. */
    static long between(Instant then, Instant clock) {
        return Math.max(0, Duration.between(then, clock).toMillis());
    }
}
