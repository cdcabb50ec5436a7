package io.github.holdfast.service;

import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/** What the handles of one lock stand for; {@link LockHandle} says what each of these is to do. */
interface Holding {

    String name();

    String owner();

    long fencingToken();

    int holdCount();

    LockState state();

    Duration remaining();

    void renew(Duration lease);

    void ensureValidFor(Duration duration);

    void guard();

    void guard(EntityManager entityManager);

    boolean isFenced();

    void detach();

    void onLost(Consumer<LockLost> handler);

    ReleaseOutcome release();

    /** What whoever closes the last handle is to be told if it was lost. */
    Optional<LockLostException> loss();
}
