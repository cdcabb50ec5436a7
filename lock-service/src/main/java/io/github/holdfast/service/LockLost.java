package io.github.holdfast.service;

/**
 * What a former holder is told.
 *
 * @param lockName what was locked
 * @param owner in whose name
 * @param fencingToken the token of the grant that is lost
 * @param cause why
 */
public record LockLost(String lockName, String owner, long fencingToken, LossCause cause) {}
