package io.github.holdfast.service.engine.share;

import io.github.holdfast.lock.LockRequest;

/**
 * A request for permits of a semaphore.
 *
 * @param lock the name, the lease, the wait time, and what happens after a loss; not re-entrant, and without a chosen owner
 * @param permits how many permits to acquire together; at least 1
 * @param limit how many permits the semaphore has, if it has no row yet
 */
public record PermitRequest(LockRequest lock, int permits, int limit) {}
