package io.github.holdfast.repository.memory;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What happens to the transactions of one {@link InMemoryLockStore}. A fault waits for the next transaction that contains a write of
 * its name, which is that of the method of the port, such as {@code grant} or {@code beat}. Thread-safe.
 */
public final class InMemoryFaults {

    /** What becomes of a write without an answer. */
    public enum Unanswered {
        /** It takes effect; only the answer is lost. */
        HAPPENED,

        /** It never takes effect. */
        LOST,

        /** It takes effect when a test calls {@link #arrive}, if it still matches the rows then. */
        LATE
    }

    private record Fault(Failure failure, @Nullable Unanswered effect) {}

    /** What a transaction does at its end. */
    record End(@Nullable StoreException thrown, boolean takesEffect) {}

    private static final End COMMIT = new End(null, true);

    private final InMemoryDatabase database;
    private final Map<String, Fault> next = new HashMap<>();
    private final List<List<InMemoryDatabase.Write>> late = new ArrayList<>();
    private boolean isUnreachable;
    private int refusedConnections;

    InMemoryFaults(InMemoryDatabase database) {
        this.database = database;
    }

    /** Until this is taken back, no transaction gets a connection. */
    public synchronized void refuseConnections(boolean refused) {
        isUnreachable = refused;
    }

    /** How many transactions got no connection. */
    public synchronized int refusedConnections() {
        return refusedConnections;
    }

    /** The next transaction with this write writes nothing, and fails. */
    public synchronized void refuse(String write, Failure failure) {
        next.put(write, new Fault(failure, null));
    }

    /** The next transaction with this write gets no answer to its commit. */
    public synchronized void leaveUnanswered(String write, Unanswered effect) {
        next.put(write, new Fault(Failure.UNKNOWN, effect));
    }

    /** Whether the faults have all been met. */
    public synchronized boolean haveAllOccurred() {
        return next.isEmpty();
    }

    /** Lets the late writes take effect, each if it still matches the rows. */
    public void arrive() {
        List<List<InMemoryDatabase.Write>> arriving;
        synchronized (this) {
            arriving = List.copyOf(late);
            late.clear();
        }
        arriving.forEach(database::arrive);
    }

    synchronized void beforeBegin() {
        if (isUnreachable) {
            refusedConnections++;
            throw exception(Failure.UNAVAILABLE);
        }
    }

    /**
     * Decides the end of a transaction.
     *
     * @param writes the names of its writes
     * @param statements the writes
     */
    synchronized End end(List<String> writes, List<InMemoryDatabase.Write> statements) {
        Fault fault = writes.stream()
                .filter(next::containsKey)
                .findFirst()
                .map(next::remove)
                .orElse(null);
        if (fault == null) {
            return COMMIT;
        }
        if (fault.effect() == Unanswered.LATE) {
            late.add(statements);
        }
        return new End(exception(fault.failure()), fault.effect() == Unanswered.HAPPENED);
    }

    private static StoreException exception(Failure failure) {
        return StoreException.of(failure, new IllegalStateException("A test wants this failure"));
    }
}
