package io.github.holdfast.repository;

import java.time.Instant;

/** The double, with a clock that stands still until a test waits. */
final class InMemoryStoreUnderTest extends StoreUnderTest {

    private Instant now = Instant.parse("2026-01-01T12:00:00Z");
    private final InMemoryDatabase database = new InMemoryDatabase(() -> now);
    private final InMemoryLockStore store = database.store();

    @Override
    InMemoryLockStore store() {
        return store;
    }

    @Override
    TestTables tables() {
        return database.tables();
    }

    @Override
    Instant clock() {
        return call(locks -> store.pages().clock());
    }

    @Override
    void awaitClock(Instant time) {
        now = time;
    }

    @Override
    public void close() {}
}
