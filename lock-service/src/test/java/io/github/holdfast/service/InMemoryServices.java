package io.github.holdfast.service;

import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.repository.memory.InMemoryDatabase;
import io.github.holdfast.repository.memory.InMemoryFaults;
import io.github.holdfast.repository.memory.InMemoryLockStore;
import io.github.holdfast.repository.store.TestTables;
import io.github.holdfast.service.engine.FakeTicker;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.UnaryOperator;

/** Lock services on one double of the store, whose clock goes on as theirs does, unless it {@linkplain #passInDatabase passes} alone. */
final class InMemoryServices implements TestServices {

    private final Instant start = Instant.now();
    private final FakeTicker ticker;
    private final InMemoryDatabase database;
    private final Deque<LockService> opened = new ArrayDeque<>();
    private final InMemoryLockStore breakable;
    private volatile Duration ahead = Duration.ZERO;

    InMemoryServices(FakeTicker ticker) {
        this.ticker = ticker;
        database = new InMemoryDatabase(() -> start.plusNanos(ticker.nanoTime()).plus(ahead));
        breakable = database.store();
    }

    /** What goes wrong for the breakable services. */
    InMemoryFaults faults() {
        return breakable.faults();
    }

    @Override
    public LockService open() {
        return build(builder -> builder);
    }

    @Override
    public LockService buildBreakable(UnaryOperator<LockServiceBuilder> settings) {
        return build(breakable, settings);
    }

    @Override
    public void refuseConnections(boolean refused) {
        faults().refuseConnections(refused);
    }

    @Override
    public LockService build(UnaryOperator<LockServiceBuilder> settings) {
        return build(database.store(), settings);
    }

    /** A store for a service that can be asked for locks that it keeps. */
    InMemoryLockStore listeningStore() {
        return database.listeningStore();
    }

    LockService build(InMemoryLockStore store, UnaryOperator<LockServiceBuilder> settings) {
        LockServiceBuilder builder =
                LockService.builder(InMemoryDatabase.noUnit()).adjusted(ticker.inSettings());
        LockService service = settings.apply(builder).over(store, InMemoryDatabase.noGuard());
        opened.push(service);
        return service;
    }

    @Override
    public TestTables tables() {
        return database.tables();
    }

    @Override
    public long nanoTime() {
        return ticker.nanoTime();
    }

    @Override
    public void awaitOver(LockHandle lock) {
        // The holder counts from before its grant, so its lease is over a little earlier than that of the row.
        ticker.advance(lock.remaining().plusMillis(10));
        await().until(() -> lock.state() == LockState.LOST);
    }

    @Override
    public void passInDatabase(Duration time) {
        ahead = ahead.plus(time);
    }

    @Override
    public void close() {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
