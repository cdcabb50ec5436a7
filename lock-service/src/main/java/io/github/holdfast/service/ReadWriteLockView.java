package io.github.holdfast.service;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * A view of a lock as a {@code java.util.concurrent} read-write lock. All views of one name are one lock.
 *
 * @param readLock shares the lock
 * @param writeLock holds the lock exclusively
 */
record ReadWriteLockView(Lock readLock, Lock writeLock) implements ReadWriteLock {}
