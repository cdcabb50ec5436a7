package io.github.holdfast.service;

import io.github.holdfast.election.Elections;
import io.github.holdfast.election.LeaderInfo;
import io.github.holdfast.lock.LockInfo;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads a page of elections, as {@link LockAdmin#elections} returns it. For one thread. */
final class ElectionPage {

    private final LockAdmin admin;
    private final Elections own;
    private final WaitingNodes waiting;

    ElectionPage(LockAdmin admin, Elections own, WaitingNodes waiting) {
        this.admin = admin;
        this.own = own;
        this.waiting = waiting;
    }

    List<ElectionInfo> read(String afterName, int limit) {
        return leaders(afterName, limit).entrySet().stream()
                .limit(limit)
                .map(election -> election(election.getKey(), election.getValue().orElse(null)))
                .toList();
    }

    private ElectionInfo election(String name, @Nullable LeaderInfo leader) {
        return new ElectionInfo(name, leader, leader != null && own.isLeader(leader), waiting.of(name));
    }

    /** Only the holder of its lock shows that an election has a leader. One without a leader is known to its candidates. */
    private NavigableMap<String, Optional<LeaderInfo>> leaders(String afterName, int limit) {
        NavigableMap<String, Optional<LeaderInfo>> leaders = new TreeMap<>();
        String after = afterName;
        boolean isLast = false;
        while (!isLast && leaders.size() < limit) {
            List<LockInfo> page = admin.held(after, LockAdmin.MAX_PAGE_SIZE);
            for (LockInfo lock : page) {
                LeaderInfo.ofHeld(lock).ifPresent(leader -> leaders.put(leader.name(), Optional.of(leader)));
                after = lock.name();
            }
            isLast = page.size() < LockAdmin.MAX_PAGE_SIZE;
        }
        for (String name : own.names()) {
            if (name.compareTo(afterName) > 0 && (isLast || name.compareTo(after) <= 0)) {
                leaders.putIfAbsent(name, Optional.empty());
            }
        }
        return leaders;
    }
}
