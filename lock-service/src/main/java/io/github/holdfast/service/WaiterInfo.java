package io.github.holdfast.service;

import java.time.Duration;

/**
 * An acquisition under way in this process.
 *
 * @param name what is to be locked
 * @param holder who is to hold it, for people
 * @param waited how long it has taken so far, by the process's monotonic clock
 */
public record WaiterInfo(String name, String holder, Duration waited) {}
