package io.github.holdfast.repository.store;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Function;

/** A store, on a database or the double, with what the tests of its ports need beside it. */
public abstract class StoreUnderTest implements AutoCloseable {

    static final Duration AT_MOST = Duration.ofSeconds(20);

    public abstract LockStore store();

    public abstract TestTables tables();

    /** Reads the clock of the database without the store. */
    public abstract Instant clock();

    /** Waits until that clock shows this time. */
    public abstract void awaitClock(Instant time);

    @Override
    public abstract void close();

    /** Runs the work in a transaction of the store, with more time than any test needs. */
    public <T> T call(Function<TransactionalLockRows, T> work) {
        return store().inTransaction(AT_MOST, work);
    }

    public LockSnapshot read(String name) {
        return call(locks -> locks.read(name)).orElseThrow(() -> new AssertionError("No row: " + name));
    }

    /** Registers a node that lives longer than any test. */
    public void register(String node) {
        register(node, Duration.ofHours(1));
    }

    public void register(String node, Duration lease) {
        store().inTransaction(AT_MOST, () -> {
            store().nodes().register(node, lease, null);
            return null;
        });
    }

    /** Creates a row, which nobody holds. */
    public LockEntity create(String name) {
        call(locks -> locks.createIfMissing(name));
        return read(name).row();
    }

    /** Creates a row if necessary and grants it, whoever holds it. */
    public LockEntity grant(String name, String owner, Duration lease) {
        LockEntity before = create(name);
        LockEntity after = before.granted(owner, null, "holder of " + owner);
        if (!call(locks -> locks.grant(before, after, lease, null))) {
            throw new AssertionError("Not granted: " + before);
        }
        return read(name).row();
    }
}
