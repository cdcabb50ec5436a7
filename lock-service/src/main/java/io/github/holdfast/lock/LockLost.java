package io.github.holdfast.lock;

/**
 * The loss of a lock, as an event for its previous holder.
 *
 * @param lockName the name of the lock
 * @param owner the owner that lost the lock
 * @param fencingToken the token of the lost grant
 * @param cause the cause of the loss
 */
public record LockLost(String lockName, String owner, long fencingToken, LossCause cause) {}
