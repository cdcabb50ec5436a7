package io.github.holdfast.service;

/**
 * What was tidied up.
 *
 * @param nodesEnded how many nodes were ended because their lease was over
 * @param locksFreed how many locks were taken from dead nodes
 * @param locksPurged how many rows of idle locks were deleted
 * @param nodesPurged how many rows of dead nodes were deleted
 * @param runsLost how many runs of tasks were found to be lost, mostly because their process has died
 * @param runsPurged how many rows of runs were deleted
 */
public record HousekeepingReport(
        int nodesEnded, int locksFreed, int locksPurged, int nodesPurged, int runsLost, int runsPurged) {}
