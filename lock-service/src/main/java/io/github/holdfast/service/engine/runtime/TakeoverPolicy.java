package io.github.holdfast.service.engine.runtime;

import java.time.Duration;

/**
 * The rules for a takeover: when a lock is taken from its holder, and when it can be granted again.
 *
 * @param lockDelay how long nobody can acquire a lock that a dead holder left
 * @param clockTolerance the time that must pass between the end of a lease and a takeover
 */
public record TakeoverPolicy(Duration lockDelay, Duration clockTolerance) {}
