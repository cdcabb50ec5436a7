package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Function;

/** A store, on a database or the double, with what the tests of its ports need beside it. */
abstract class StoreUnderTest implements AutoCloseable {

    static final Duration AT_MOST = Duration.ofSeconds(20);

    abstract LockStore store();

    abstract TestTables tables();

    /** Reads the clock of the database without the store. */
    abstract Instant clock();

    /** Waits until that clock shows this time. */
    abstract void awaitClock(Instant time);

    @Override
    public abstract void close();

    /** Runs the work in a transaction of the store, with more time than any test needs. */
    <T> T call(Function<TransactionalLockRows, T> work) {
        return store().inTransaction(AT_MOST, work);
    }

    LockSnapshot read(String name) {
        return call(locks -> locks.read(name)).orElseThrow(() -> new AssertionError("No row: " + name));
    }

    /** Registers a node that lives longer than any test. */
    void register(String node) {
        register(node, Duration.ofHours(1));
    }

    void register(String node, Duration lease) {
        store().inTransaction(AT_MOST, () -> {
            store().nodes().register(node, lease, null);
            return null;
        });
    }

    /** Creates a row, which nobody holds. */
    LockEntity create(String name) {
        call(locks -> locks.createIfMissing(name));
        return read(name).row();
    }

    /** Creates a row if necessary and grants it, whoever holds it. */
    LockEntity grant(String name, String owner, Duration lease) {
        LockEntity before = create(name);
        LockEntity after = before.granted(owner, null, "holder of " + owner);
        if (!call(locks -> locks.grant(before, after, lease, null))) {
            throw new AssertionError("Not granted: " + before);
        }
        return read(name).row();
    }
}
