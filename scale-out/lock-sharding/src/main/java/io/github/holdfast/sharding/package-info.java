/**
 * Locks that are spread over several databases.
 *
 * <p>{@link io.github.holdfast.sharding.ShardedLocks} is a {@link io.github.holdfast.lock.Locks} over several lock services. A {@link
 * io.github.holdfast.sharding.Sharding} decides which service has the lock of a name.
 */
@NullMarked
package io.github.holdfast.sharding;

import org.jspecify.annotations.NullMarked;
