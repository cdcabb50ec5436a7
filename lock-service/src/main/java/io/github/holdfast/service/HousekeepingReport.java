package io.github.holdfast.service;

/**
 * The result of one housekeeping run, as counts.
 *
 * @param nodesEnded the number of nodes that it ended because their lease was over
 * @param locksFreed the number of locks that it took from dead nodes
 * @param locksPurged the number of idle locks whose rows it deleted
 * @param nodesPurged the number of dead nodes whose rows it deleted
 * @param runsLost the number of task runs that it marked as lost, mostly because their process died
 * @param runsPurged the number of task runs whose rows it deleted
 */
public record HousekeepingReport(
        int nodesEnded, int locksFreed, int locksPurged, int nodesPurged, int runsLost, int runsPurged) {}
