package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.Grant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The holds of one service, and which thread re-enters which. Thread-safe. */
final class HeldLocks {

    /** Holds that were never released are swept out when there are twice as many holds as after the last sweep. */
    private static final int FIRST_SWEEP = 1024;

    private record ThreadAndName(Thread thread, String name) {}

    /** Who re-enters a hold without asking the database. */
    enum Reentry {
        BY_THREAD,
        NONE
    }

    private record NameAndOwner(String name, String owner) {}

    private final Map<ThreadAndName, Hold> byThread = new ConcurrentHashMap<>();
    private final Map<Thread, Set<Hold>> ofThread = new ConcurrentHashMap<>();

    /** The last of each name whose owner is its own, so that others wait for it. */
    private final Map<String, Hold> byName = new ConcurrentHashMap<>();

    private final Set<Hold> holds = ConcurrentHashMap.newKeySet();

    /** The acquisitions under way. */
    private final Set<Pending> pending = ConcurrentHashMap.newKeySet();

    /** Those to whom another thread grants a lock; what is written for them is accounted for, also when they have left. */
    private final Set<NameAndOwner> granting = ConcurrentHashMap.newKeySet();

    private volatile int sweepAt = FIRST_SWEEP;
    private volatile boolean draining;
    private volatile boolean closed;

    /**
     * Keeps a hold until it ends.
     *
     * @param thread that acquired it
     * @throws IllegalStateException if the service is closed
     */
    void add(Hold hold, Thread thread, Reentry reentry) {
        holds.add(hold);
        if (!hold.isOwnerChosen()) {
            byName.put(hold.name(), hold);
        }
        hold.acquiredBy(thread);
        // Inside: the release of another one by another thread would remove the set meanwhile.
        ofThread.compute(thread, (key, existing) -> {
            Set<Hold> ofKey = existing == null ? ConcurrentHashMap.newKeySet() : existing;
            ofKey.add(hold);
            return ofKey;
        });
        if (reentry == Reentry.BY_THREAD) {
            byThread.put(new ThreadAndName(thread, hold.name()), hold);
        }
        if (holds.size() > sweepAt) {
            holds.stream()
                    .filter(other -> other.lifetime().isLost() && other.isForgotten())
                    .forEach(this::remove);
            sweepAt = Math.max(FIRST_SWEEP, 2 * holds.size());
        }
        // After the hold is in: whoever closes the service either sees the hold, or this sees that it is closed.
        checkOpen();
    }

    /** Notes that an acquisition is under way, until {@link #end}; what it writes is accounted for. */
    void begin(Pending acquisition) {
        pending.add(acquisition);
    }

    /** Notes that an acquisition has ended; its hold, if any, was {@linkplain #add added} before. */
    void end(Pending acquisition) {
        pending.remove(acquisition);
    }

    /** Notes that a thread grants a lock to another one, until {@link #endGrant}. */
    void beginGrant(String name, String owner) {
        granting.add(new NameAndOwner(name, owner));
    }

    /** Notes that the grant has ended: its owner has it, or has been left without. */
    void endGrant(String name, String owner) {
        granting.remove(new NameAndOwner(name, owner));
    }

    /** Returns the acquisitions under way. */
    Collection<Pending> pending() {
        return pending;
    }

    /** Returns those rows that neither a valid hold nor an acquisition or grant under way accounts for. */
    List<LockEntity> unknown(List<LockEntity> rows) {
        // In this order: an acquisition adds its hold before it ends.
        Set<NameAndOwner> writing = Stream.concat(
                        granting.stream(),
                        pending.stream().map(acquisition -> new NameAndOwner(acquisition.name(), acquisition.owner())))
                .collect(Collectors.toSet());
        List<LockEntity> notPending = rows.stream()
                .filter(row -> row.owner() != null && !writing.contains(new NameAndOwner(row.name(), row.owner())))
                .toList();
        Set<Grant> known = holds.stream()
                .filter(hold -> !hold.lifetime().isLost())
                .map(Hold::grant)
                .collect(Collectors.toSet());
        return notPending.stream().filter(row -> !known.contains(Grant.of(row))).toList();
    }

    /** Returns the valid holds that live as long as this node. */
    List<Hold> through(Node node) {
        return holds.stream()
                .filter(hold -> hold.isThrough(node) && !hold.lifetime().isLost())
                .toList();
    }

    /** Returns all holds, of which some may be lost by now. */
    Collection<Hold> all() {
        return holds;
    }

    /** Returns the hold of this lock that the current thread re-enters; it may be lost. */
    Optional<Hold> ofCurrentThread(String name) {
        return Optional.ofNullable(byThread.get(new ThreadAndName(Thread.currentThread(), name)));
    }

    /** Returns the hold of this lock that others of this process wait for; it may be lost. */
    Optional<Hold> ofName(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    /**
     * Returns the holds that the current thread has acquired and not released, lost ones too: a transaction that begins under
     * a lost hold must not commit.
     */
    List<Hold> ofCurrentThread() {
        return ofThread.getOrDefault(Thread.currentThread(), Set.of()).stream()
                .filter(hold -> !hold.isForgotten() || !hold.lifetime().isLost())
                .toList();
    }

    /**
     * Checks that a row lock would not wait for the calling thread itself.
     *
     * @throws IllegalStateException if it would
     */
    void checkNotHeldByCurrentThread(String name) {
        if (ofCurrentThread().stream()
                .filter(hold -> hold.name().equals(name))
                .anyMatch(hold -> !hold.lifetime().isLost()
                        && (hold.isOpen() || hold.coverage().isUnfinished()))) {
            throw new IllegalStateException("This thread holds '" + name
                    + "' already, until it is released and its transactions have ended; a row lock would wait for it");
        }
    }

    /** Lets the thread that acquired the hold no longer re-enter it. */
    void unbind(Hold hold) {
        Thread thread = hold.acquiredBy();
        if (thread != null) {
            byThread.remove(new ThreadAndName(thread, hold.name()), hold);
        }
    }

    /** Lets the thread that acquired the hold have nothing to do with it any more. */
    void detach(Hold hold) {
        unbind(hold);
        Thread thread = hold.acquiredBy();
        if (thread != null) {
            ofThread.computeIfPresent(thread, (key, ofKey) -> {
                ofKey.remove(hold);
                return ofKey.isEmpty() ? null : ofKey;
            });
        }
    }

    void remove(Hold hold) {
        holds.remove(hold);
        byName.remove(hold.name(), hold);
        detach(hold);
    }

    int size() {
        return holds.size();
    }

    void checkOpen() {
        if (closed) {
            throw new IllegalStateException("The lock service is closed");
        }
    }

    /** From here on, only threads that hold a lock acquire others. */
    void drain() {
        draining = true;
    }

    boolean isDraining() {
        return draining;
    }

    /** Whether threads that hold nothing may acquire locks. */
    boolean isAccepting() {
        return !draining && !closed;
    }

    /** Whether a hold is left that is not lost, and that somebody can still release. */
    boolean isAnyLeft() {
        return holds.stream().anyMatch(hold -> !hold.lifetime().isLost() && !hold.isForgotten());
    }

    /** Refuses further holds and returns those that there are. */
    List<Hold> close() {
        closed = true;
        return List.copyOf(holds);
    }
}
