package io.github.holdfast.console;

import io.github.holdfast.election.LeaderInfo;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.ElectionInfo;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockFilter;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.json.JsonWriter.Members;
import org.springframework.web.servlet.function.ServerRequest;

/**
 * One page of held locks.
 *
 * @param next the first name of the next page, as far as it is known without the filter; null if this is the last page
 * @param last the name at which this page ends; null if this is the last page
 */
record HeldSection(
        List<Lock> locks, @Nullable String next, @Nullable String last) {

    /**
     * What to show.
     *
     * @param from the first name; the empty string for all. It is looked up without the filter
     * @param after the name at which the page before ended; the empty string for the first page
     */
    record Query(String from, String after, LockFilter filter) {

        /** @throws IllegalArgumentException if a name has characters that no lock's has, or the state is unknown */
        static Query of(ServerRequest request) {
            String state = parameter(request, "lockState");
            return new Query(
                    parameter(request, "from"),
                    parameter(request, "after"),
                    LockFilter.all()
                            .named(parameter(request, "name"))
                            .heldBy(parameter(request, "holder"))
                            .in(state.isEmpty() ? LockFilter.State.ANY : LockFilter.State.valueOf(state)));
        }

        private static String parameter(ServerRequest request, String name) {
            String value = request.param(name).orElse("");
            return value.isEmpty() ? value : LockRequest.of(value).name();
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

    /** Reads a page with one statement; one more if it begins at a name, and a few more if locks are shared. */
    static HeldSection of(LockAdmin admin, Query query) {
        int size = ConsoleState.PAGE_SIZE;
        List<LockInfo> first = query.from().isEmpty() ? List.of() : admin.holders(query.from());
        String after = query.from().isEmpty() ? query.after() : query.from();
        List<LockInfo> page = admin.held(query.filter(), after, size + 1);
        List<Lock> held = Lock.of(Stream.concat(first.stream(), page.stream()).toList());
        String next = next(admin, query.filter(), held, page);
        List<Lock> shown = held.subList(0, Math.min(held.size(), size));
        return new HeldSection(
                shown, next, next == null ? null : shown.get(shown.size() - 1).name());
    }

    /** Returns the first name of the next page. Shares may fill a page with few locks, so that it must be looked for. */
    private static @Nullable String next(LockAdmin admin, LockFilter filter, List<Lock> held, List<LockInfo> page) {
        if (held.size() > ConsoleState.PAGE_SIZE) {
            return held.get(ConsoleState.PAGE_SIZE).name();
        }
        return page.size() <= ConsoleState.PAGE_SIZE
                ? null
                : admin.held(filter, page.get(page.size() - 1).name(), 1).stream()
                        .map(LockInfo::name)
                        .findFirst()
                        .orElse(null);
    }

    /** Returns the same without the locks of these elections, which have a section of their own. */
    HeldSection without(List<ElectionInfo> elections) {
        Set<String> names = elections.stream().map(ElectionInfo::name).collect(Collectors.toSet());
        return new HeldSection(
                locks.stream()
                        .filter(lock -> !lock.isOfElection() || !names.contains(lock.name()))
                        .toList(),
                next,
                last);
    }

    void addTo(Members<?> json, Instant clock) {
        json.add("nextHeld", next);
        json.add("lastHeld", last);
        json.add("held", ConsoleState.json(locks, (members, lock) -> {
            members.add("name", lock.name());
            members.add("mode", lock.mode().name());
            members.add("holders", ConsoleState.json(lock.holders(), (each, holder) -> holder(each, holder, clock)));
        }));
    }

    static void holder(Members<?> json, LockInfo lock, Instant clock) {
        json.add("name", lock.name());
        json.add("mode", lock.mode().name());
        json.add("owner", lock.owner());
        json.add("holder", lock.holder());
        json.add("isKeptByNode", lock.nodeId() != null);
        // As text, because JavaScript's numbers are exact only up to 2^53.
        json.add("fencingToken", Long.toString(lock.fencingToken()));
        json.add("holdCount", lock.holdCount());
        json.add("acquiredAt", lock.acquiredAt());
        json.add("heldFor", ConsoleState.between(lock.acquiredAt(), clock));
        json.add("expiresIn", lock.expiresIn().toMillis());
    }
}
