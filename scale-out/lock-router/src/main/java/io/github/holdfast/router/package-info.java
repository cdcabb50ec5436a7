/**
 * Locks that are spread over several databases.
 *
 * <p>{@link io.github.holdfast.router.ShardedLocks} is a {@link io.github.holdfast.lock.Locks} over several lock services. A {@link
 * io.github.holdfast.router.Sharding} decides which service has the lock of a name.
 */
@NullMarked
package io.github.holdfast.router;

import org.jspecify.annotations.NullMarked;
