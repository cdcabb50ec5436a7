package io.github.holdfast.repository.memory;

import io.github.holdfast.repository.store.StoreUnderTest;
import io.github.holdfast.repository.store.TestTables;
import java.time.Instant;

/** The double, with a clock that stands still until a test waits. */
public final class InMemoryStoreUnderTest extends StoreUnderTest {

    private Instant now = Instant.parse("2026-01-01T12:00:00Z");
    private final InMemoryDatabase database = new InMemoryDatabase(() -> now);
    private final InMemoryLockStore store = database.store();

    @Override
    public InMemoryLockStore store() {
        return store;
    }

    @Override
    public TestTables tables() {
        return database.tables();
    }

    @Override
    public Instant clock() {
        return call(locks -> store.pages().clock());
    }

    @Override
    public void awaitClock(Instant time) {
        now = time;
    }

    @Override
    public void close() {}
}
