package io.github.holdfast.lock;

import java.time.Duration;

/**
 * An acquisition that is in progress in this process.
 *
 * @param name the name of the lock
 * @param holder a readable description of the acquirer
 * @param waited how long the acquisition has taken so far, by the process's monotonic clock
 */
public record WaiterInfo(String name, String holder, Duration waited) {}
