package io.github.holdfast.service;

import io.github.holdfast.repository.LockStore;

/**
 * What every acquisition and hold of one service works with.
 *
 * @param store where the locks are
 * @param settler ends what unanswered commits left open
 * @param held the holds of this service
 * @param ticker the local passage of time
 */
record Internals(LockStore store, Settler settler, HeldLocks held, Ticker ticker) {}
