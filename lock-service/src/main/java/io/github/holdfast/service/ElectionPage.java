package io.github.holdfast.service;

import io.github.holdfast.election.Elections;
import io.github.holdfast.election.LeaderInfo;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.repository.rows.LockSnapshot;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads a page of elections, as {@link LockAdmin#elections} returns it. For one thread. */
final class ElectionPage {

    private final LockAdmin admin;
    private final Elections own;
    private final Comparator<String> nameOrder;

    /** @param nameOrder the order of names in the database, which decides where a page ends */
    ElectionPage(LockAdmin admin, Elections own, Comparator<String> nameOrder) {
        this.admin = admin;
        this.own = own;
        this.nameOrder = nameOrder;
    }

    List<ElectionInfo> read(String afterName, int limit) {
        Map<String, Optional<LeaderInfo>> leaders = leaders(afterName, limit);
        List<String> names = leaders.keySet().stream().limit(limit).toList();
        Map<String, List<NodeInfo>> waiting = names.isEmpty() ? Map.of() : admin.waitingNodes(names);
        return names.stream()
                .map(name -> election(
                        name,
                        leaders.getOrDefault(name, Optional.empty()).orElse(null),
                        waiting.getOrDefault(name, List.of())))
                .toList();
    }

    private ElectionInfo election(String name, @Nullable LeaderInfo leader, List<NodeInfo> waiting) {
        return new ElectionInfo(name, leader, leader != null && own.isLeader(leader), waiting);
    }

    /** Only the holder of its lock shows that an election has a leader. One without a leader is known to its candidates. */
    private NavigableMap<String, Optional<LeaderInfo>> leaders(String afterName, int limit) {
        NavigableMap<String, Optional<LeaderInfo>> leaders = new TreeMap<>(nameOrder);
        String after = afterName;
        boolean isLast = false;
        while (!isLast && leaders.size() < limit) {
            List<LockSnapshot> page = admin.heldByLeaders(after, limit);
            for (LockSnapshot seen : page) {
                LockInfo.ofHeld(seen)
                        .flatMap(LeaderInfo::ofHeld)
                        .ifPresent(leader -> leaders.put(leader.name(), Optional.of(leader)));
                after = seen.row().name();
            }
            isLast = page.size() < limit;
        }
        for (String name : own.names()) {
            if (nameOrder.compare(name, afterName) > 0 && (isLast || nameOrder.compare(name, after) <= 0)) {
                leaders.putIfAbsent(name, Optional.empty());
            }
        }
        return leaders;
    }
}
