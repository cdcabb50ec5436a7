package io.github.holdfast.service;

import io.github.holdfast.election.LeaderInfo;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An election.
 *
 * @param name the name of the election and its lock
 * @param leader the leader, on whatever node; null if there is none
 * @param isLeader whether the service that returned this leads
 * @param waiting the nodes with a candidate that waits for the leadership, in the order in which they began to wait
 */
public record ElectionInfo(String name, @Nullable LeaderInfo leader, boolean isLeader, List<NodeInfo> waiting) {}
