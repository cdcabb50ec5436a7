package io.github.holdfast.repository.memory;

import io.github.holdfast.repository.wakeup.WakeUpChannel;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The recalls of {@link InMemoryDatabase}. Its releases wake nobody, so waiters find them by polling. */
final class InMemoryWakeUpChannel implements WakeUpChannel {

    private static final long ROUND_NANOS = 2_000_000;

    private final InMemoryDatabase database;
    private volatile @Nullable Long bell;

    InMemoryWakeUpChannel(InMemoryDatabase database) {
        this.database = database;
    }

    @Override
    public @Nullable Long bell() {
        return bell;
    }

    @Override
    public void wakeNext(String name) {}

    @Override
    public void recall(String name, String nodeId) {
        database.listeners.forEach((number, receiver) -> {
            if (database.tables().count("HoldfastNode", Map.of("id", nodeId, "bell", number)) > 0) {
                receiver.lockReleased(name);
            }
        });
    }

    @Override
    public void listen(Receiver receiver) {
        long own = UUID.randomUUID().getLeastSignificantBits() >>> 1;
        database.listeners.put(own, receiver);
        try {
            bell = own;
            receiver.ready();
            while (receiver.isOpen()) {
                LockSupport.parkNanos(this, ROUND_NANOS);
            }
        } finally {
            bell = null;
            database.listeners.remove(own);
        }
    }

    @Override
    public void stopListening() {}
}
