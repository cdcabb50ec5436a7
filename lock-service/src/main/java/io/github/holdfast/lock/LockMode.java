package io.github.holdfast.lock;

/** How a lock is held. */
public enum LockMode {
    /** By one owner, which excludes all others. */
    EXCLUSIVE,

    /** Together with other owners that share it. Permits of a semaphore are held in this mode too. */
    SHARED
}
