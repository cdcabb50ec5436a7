package io.github.holdfast.console;

import io.github.holdfast.console.LockConsole.RecentLosses;
import io.github.holdfast.election.LeaderInfo;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.WaiterInfo;
import io.github.holdfast.semaphore.PermitInfo;
import io.github.holdfast.semaphore.SemaphoreInfo;
import io.github.holdfast.service.ElectionInfo;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.NodeInfo;
import io.github.holdfast.service.RunInfo;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.json.JsonWriter;
import org.springframework.boot.json.JsonWriter.Members;
import org.springframework.boot.json.WritableJson;

/**
 * The content of the page. Its JSON does not depend on the application's JSON settings. Times are by the database's clock.
 * Durations are in milliseconds, and the page keeps counting from them.
 *
 * @param clock the database's clock, read before everything else
 * @param held the held locks, starting at a name, without those of the elections
 * @param nextHeld the first name of the next page of held locks; null if this is the last page
 */
record ConsoleState(
        Instant clock,
        String process,
        List<Lock> held,
        @Nullable String nextHeld,
        List<ElectionInfo> elections,
        Part<Semaphore> semaphores,
        Part<NodeInfo> nodes,
        Part<RunInfo> runs,
        Part<WaiterInfo> waiters,
        Part<RecentLosses.Loss> losses) {

    /** The number of entries of each kind on the page. */
    static final int PAGE_SIZE = 100;

    /** @param more the number of further entries, which the page omits */
    record Part<T>(List<T> entries, int more) {

        static <T> Part<T> of(List<T> all) {
            int shown = Math.min(all.size(), PAGE_SIZE);
            return new Part<>(all.subList(0, shown), all.size() - shown);
        }

        private static <T> Part<T> of(List<T> all, Comparator<T> order) {
            return of(all.stream().sorted(order).toList());
        }
    }

    /** @param holders in the order of their grants; one, or those that share the lock */
    record Lock(String name, LockMode mode, List<LockInfo> holders) {

        private boolean isOfElection() {
            return LeaderInfo.ofHeld(holders.get(0)).isPresent();
        }

        /** Groups the entries of a page of held locks by their names, in the same order. */
        private static List<Lock> of(List<LockInfo> page) {
            return page.stream()
                    .collect(Collectors.groupingBy(LockInfo::name, LinkedHashMap::new, Collectors.toList()))
                    .values()
                    .stream()
                    .map(holders ->
                            new Lock(holders.get(0).name(), holders.get(0).mode(), holders))
                    .toList();
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
     * Reads the state from the database, with at most eight statements, and a few more if locks are shared or there are elections. One of
     * them reads the holders of all shown semaphores, up to {@link LockAdmin#MAX_PAGE_SIZE} of them.
     *
     * @param from the first name to show; all of them if it is empty
     * @throws IllegalArgumentException if {@code from} is not a valid name
     */
    static ConsoleState of(LockService locks, RecentLosses losses, String from) {
        LockAdmin admin = locks.admin();
        Instant clock = admin.databaseClock();
        List<LockInfo> first = from.isEmpty() ? List.of() : admin.holders(from);
        List<LockInfo> page = admin.held(from, PAGE_SIZE + 1);
        List<Lock> held = Lock.of(Stream.concat(first.stream(), page.stream()).toList());
        List<ElectionInfo> elections = admin.elections("", PAGE_SIZE);
        return new ConsoleState(
                clock,
                admin.process(),
                without(elections, held.subList(0, Math.min(held.size(), PAGE_SIZE))),
                next(admin, held, page),
                elections,
                semaphores(admin),
                Part.of(admin.nodes("", LockAdmin.MAX_PAGE_SIZE), LIVING_AND_NEW_ONES_FIRST),
                Part.of(admin.lastRuns("", LockAdmin.MAX_PAGE_SIZE), NEW_ONES_FIRST),
                Part.of(admin.waiters()),
                Part.of(losses.lastFirst()));
    }

    private static List<Lock> without(List<ElectionInfo> elections, List<Lock> held) {
        Set<String> names = elections.stream().map(ElectionInfo::name).collect(Collectors.toSet());
        return held.stream()
                .filter(lock -> !lock.isOfElection() || !names.contains(lock.name()))
                .toList();
    }

    /** Returns the first name of the next page. Shares may fill a page with few locks, so that it must be looked for. */
    private static @Nullable String next(LockAdmin admin, List<Lock> held, List<LockInfo> page) {
        if (held.size() > PAGE_SIZE) {
            return held.get(PAGE_SIZE).name();
        }
        return page.size() <= PAGE_SIZE
                ? null
                : admin.held(page.get(page.size() - 1).name(), 1).stream()
                        .map(LockInfo::name)
                        .findFirst()
                        .orElse(null);
    }

    private static Part<Semaphore> semaphores(LockAdmin admin) {
        Part<SemaphoreInfo> all = Part.of(admin.semaphores("", LockAdmin.MAX_PAGE_SIZE));
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
        json.add("clock", clock);
        json.add("process", process);
        json.add("nextHeld", nextHeld);
        json.add("held", json(held, this::lock));
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

    private static <T> List<WritableJson> json(List<T> entries, BiConsumer<Members<?>, T> view) {
        return entries.stream()
                .map(entry -> object(members -> view.accept(members, entry)))
                .toList();
    }

    /** Returns a JSON object with the members that {@code content} adds. */
    static WritableJson object(Consumer<Members<?>> content) {
        return JsonWriter.<Boolean>of(content::accept).write(true);
    }

    private void lock(Members<?> json, Lock lock) {
        json.add("name", lock.name());
        json.add("mode", lock.mode().name());
        json.add("holders", json(lock.holders(), this::holder));
    }

    private void holder(Members<?> json, LockInfo lock) {
        json.add("name", lock.name());
        json.add("mode", lock.mode().name());
        json.add("owner", lock.owner());
        json.add("holder", lock.holder());
        json.add("isKeptByNode", lock.nodeId() != null);
        // As text, because JavaScript's numbers are exact only up to 2^53.
        json.add("fencingToken", Long.toString(lock.fencingToken()));
        json.add("holdCount", lock.holdCount());
        json.add("acquiredAt", lock.acquiredAt());
        json.add("heldFor", untilNow(lock.acquiredAt()));
        json.add("expiresIn", lock.expiresIn().toMillis());
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
        json.add("holders", json(semaphore.holders(), this::permits));
    }

    private void permits(Members<?> json, PermitInfo permits) {
        json.add("name", permits.name());
        json.add("owner", permits.owner());
        json.add("holder", permits.holder());
        json.add("isKeptByNode", permits.nodeId() != null);
        json.add("fencingToken", Long.toString(permits.fencingToken()));
        json.add("permits", permits.permits());
        json.add("acquiredAt", permits.acquiredAt());
        json.add("heldFor", untilNow(permits.acquiredAt()));
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

    /** An event between the statements may be later than the clock. It counts as having just happened. */
    private long untilNow(Instant then) {
        return Math.max(0, Duration.between(then, clock).toMillis());
    }
}
