package io.github.holdfast.service;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.repository.store.TestTables;
import java.time.Duration;
import java.util.function.UnaryOperator;

/** Lock services on one store, a database or a double, each as if in a process of its own. */
public interface TestServices extends AutoCloseable {

    LockService open();

    /** A service with other settings. */
    LockService build(UnaryOperator<LockServiceBuilder> settings);

    /** A service whose connections {@link #refuseConnections} concerns. */
    LockService buildBreakable(UnaryOperator<LockServiceBuilder> settings);

    /** Until this is taken back, those services get no connection. */
    void refuseConnections(boolean refused);

    /** The tables that all of them use. */
    TestTables tables();

    /** The time by which callers wait, in nanoseconds. */
    long nanoTime();

    /** Waits until a lock is lost because its lease is over. */
    void awaitOver(LockHandle lock);

    /** Lets time pass for the database, but not for the services. */
    void passInDatabase(Duration time);
}
