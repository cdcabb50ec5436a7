package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.LockUpgradeException;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.service.engine.hold.PendingAcquisitions.NameAndOwner;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.runtime.ServicePhase;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Keeps the holds of one service, and finds the hold that a thread re-enters. Thread-safe. */
public final class HoldRegistry {

    /** Forgotten holds are removed at this number of holds, and later at twice the number that remained. */
    private static final int FIRST_SWEEP = 1024;

    private record ThreadAndName(Thread thread, String name) {}

    /** Grants under which several threads have holds, each of its own. */
    public interface SharedGrants {

        /** Returns the grants that have holds, or that threads are joining. */
        Set<Grant> grants();

        /** Stops threads from joining this grant, because a hold of it is lost. */
        void close(Grant grant);

        /** Forgets grants that are lost: the handles of their holds may be garbage. */
        void removeLost();
    }

    /** How a hold is re-entered without a query. */
    public enum Reentry {
        BY_THREAD,
        NONE
    }

    private final Map<ThreadAndName, LeaseHold> byThread = new ConcurrentHashMap<>();

    /** The holds of each thread, row locks too. Lost ones are kept while they keep transactions of the thread from committing. */
    private final Map<Thread, Set<Hold>> ofThread = new ConcurrentHashMap<>();

    /** The last hold of each name whose owner the user did not choose. Other threads of this process wait for it. */
    private final Map<String, LeaseHold> byName = new ConcurrentHashMap<>();

    private final Set<LeaseHold> holds = ConcurrentHashMap.newKeySet();

    /** The holds of each name whose release waits for the end of transactions. */
    private final Map<String, Set<LeaseHold>> deferred = new ConcurrentHashMap<>();

    private final SharedGrants shares;

    private volatile int sweepAt = FIRST_SWEEP;
    private final ServicePhase phase;

    /**
     * A registry without holds.
     *
     * @param shares the grants under which several threads have holds
     */
    public HoldRegistry(ServicePhase phase, SharedGrants shares) {
        this.phase = phase;
        this.shares = shares;
    }

    /**
     * Keeps a hold until it ends.
     *
     * @param thread the thread that acquired it
     * @throws IllegalStateException if the service is closed
     */
    public void add(LeaseHold hold, Thread thread, Reentry reentry) {
        holds.add(hold);
        if (hold.isExclusive() && !hold.isOwnerChosen()) {
            byName.put(hold.name(), hold);
        }
        bindForReentry(hold, thread, reentry);
        if (holds.size() > sweepAt) {
            sweep();
        }
        // After the hold was added: either the closing thread sees the hold, or this thread sees the closed service.
        phase.checkOpen();
    }

    private void bindForReentry(LeaseHold hold, Thread thread, Reentry reentry) {
        hold.acquiredBy(thread);
        bind(hold, thread);
        if (reentry == Reentry.BY_THREAD) {
            byThread.put(new ThreadAndName(thread, hold.name()), hold);
        }
    }

    /** Keeps a hold in the fence of the thread that acquired it. A lost one that the thread has acquired in the same way is replaced. */
    public void bind(Hold hold, Thread thread) {
        // Inside the function: a thread that releases another hold could otherwise remove the set first.
        ofThread.compute(thread, (key, existing) -> {
            Set<Hold> ofKey = existing == null ? ConcurrentHashMap.newKeySet() : existing;
            ofKey.stream()
                    .filter(other -> other.getClass() == hold.getClass()
                            && other.name().equals(hold.name())
                            && other.expireIfOver())
                    .forEach(Hold::replaced);
            ofKey.removeIf(Hold::isOutOfFence);
            ofKey.add(hold);
            return ofKey;
        });
    }

    /** Binds a hold that goes on to the current thread. */
    public void rebind(LeaseHold hold, Reentry reentry) {
        detach(hold);
        bindForReentry(hold, Thread.currentThread(), reentry);
    }

    /** Removes the holds that are lost, and that no thread can release any more. They stay in the fence of their threads. */
    private void sweep() {
        List<LeaseHold> forgotten = holds.stream()
                .filter(hold -> hold.isForgotten() && hold.expireIfOver())
                .toList();
        for (LeaseHold hold : forgotten) {
            holds.remove(hold);
            resumed(hold);
            byName.remove(hold.name(), hold);
            unbind(hold);
        }
        forgetDeadThreads();
        ofThread.values().forEach(ofKey -> ofKey.removeIf(Hold::isOutOfFence));
        shares.removeLost();
        sweepAt = Math.max(FIRST_SWEEP, 2 * holds.size());
    }

    /** Forgets the holds of threads that have ended without a release. */
    public void forgetDeadThreads() {
        ofThread.keySet().removeIf(thread -> !thread.isAlive());
    }

    /**
     * Returns the rows whose owner has no valid hold here, and no acquisition or grant under way.
     *
     * @param shown returns the grant that a row shows
     * @param pending the owners of acquisitions and grants under way, listed before this call: an acquisition adds its hold
     *     before it ends
     */
    <T> List<T> unknown(List<T> rows, Function<T, Grant> shown, Set<NameAndOwner> pending) {
        Set<Grant> known = holds.stream()
                .filter(hold -> !hold.expireIfOver())
                .map(LeaseHold::grant)
                .collect(Collectors.toSet());
        known.addAll(shares.grants());
        return rows.stream()
                .filter(row -> {
                    Grant grant = shown.apply(row);
                    return !known.contains(grant) && !pending.contains(new NameAndOwner(grant.name(), grant.owner()));
                })
                .toList();
    }

    /** Returns the valid holds through this node. */
    List<LeaseHold> through(Node node) {
        return holds.stream()
                .filter(hold -> hold.node() == node && !hold.expireIfOver())
                .toList();
    }

    /** Returns all holds; some may be lost by now. */
    public Collection<LeaseHold> all() {
        return holds;
    }

    /** Returns the hold of this lock that the current thread re-enters; it may be lost. */
    public Optional<LeaseHold> ofCurrentThread(String name) {
        Thread thread = Thread.currentThread();
        // Mostly, the thread holds nothing.
        return ofThread.containsKey(thread)
                ? Optional.ofNullable(byThread.get(new ThreadAndName(thread, name)))
                : Optional.empty();
    }

    /** Returns the hold of this lock that other threads of this process wait for; it may be lost. */
    public Optional<LeaseHold> ofName(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    /**
     * Returns the holds of one kind that the current thread has acquired and not released. Lost holds are included until they are {@linkplain
     * Hold#isOutOfFence out of the fence}: a transaction that begins under a lost hold must not commit.
     */
    public <H extends Hold> List<H> ofCurrentThread(Class<H> kind) {
        Set<Hold> bound = ofThread.get(Thread.currentThread());
        return bound == null
                ? List.of()
                : bound.stream()
                        .filter(hold -> kind.isInstance(hold) && !hold.isOutOfFence())
                        .map(kind::cast)
                        .toList();
    }

    /** Whether the current thread has a hold that it can still release. */
    public boolean isHeldByCurrentThread() {
        return ofCurrentThread(Hold.class).stream().anyMatch(hold -> !hold.isForgotten());
    }

    /** Lets transactions of threads that have dropped their handles begin without a check, because the service is opened again. */
    public void replaced() {
        ofThread.values().forEach(bound -> bound.forEach(Hold::replaced));
    }

    /** Whether a living thread may begin transactions under a hold, valid or lost. */
    public boolean isAnyBound() {
        return ofThread.entrySet().stream()
                .filter(bound -> bound.getKey().isAlive())
                .flatMap(bound -> bound.getValue().stream())
                .anyMatch(hold -> !hold.isOutOfFence());
    }

    /**
     * Checks that a row lock would not wait for the calling thread itself.
     *
     * @throws IllegalStateException if it would
     */
    public void checkNotHeldByCurrentThread(String name) {
        if (inUseByCurrentThread(name).findAny().isPresent()) {
            throw new IllegalStateException("This thread already holds '" + name
                    + "', until its release and the end of its transactions: a row lock would wait for this thread"
                    + " itself");
        }
    }

    /**
     * Checks that an exclusive acquisition would not wait for a share of the calling thread itself.
     *
     * @throws LockUpgradeException if it would
     */
    public void checkNotSharedByCurrentThread(String name) {
        if (inUseByCurrentThread(name).anyMatch(hold -> !hold.isExclusive())) {
            throw new LockUpgradeException(name);
        }
    }

    /** The holds of this name that end only by a release of the current thread, or with its transactions. */
    private Stream<LeaseHold> inUseByCurrentThread(String name) {
        return ofCurrentThread(LeaseHold.class).stream()
                .filter(hold -> hold.name().equals(name)
                        && !hold.isLost()
                        && (hold.isOpen() || hold.holdTransactions().isUnfinished()));
    }

    /** Stops threads from re-entering and joining the hold, because it is lost. */
    void lost(LeaseHold hold) {
        unbind(hold);
        shares.close(hold.grant());
    }

    /** Stops the acquiring thread from re-entering the hold. */
    void unbind(LeaseHold hold) {
        Thread thread = hold.acquiredBy();
        if (thread != null) {
            byThread.remove(new ThreadAndName(thread, hold.name()), hold);
        }
    }

    /** Whether the acquiring thread can re-enter the hold. */
    boolean isBound(LeaseHold hold) {
        Thread thread = hold.acquiredBy();
        return thread != null && byThread.get(new ThreadAndName(thread, hold.name())) == hold;
    }

    /** Detaches the hold from the thread that acquired it. */
    void detach(LeaseHold hold) {
        unbind(hold);
        unbindFence(hold);
    }

    /** Removes the hold from the fence of the thread that acquired it. */
    public void unbindFence(Hold hold) {
        Thread thread = hold.acquiredBy();
        if (thread != null) {
            ofThread.computeIfPresent(thread, (key, ofKey) -> {
                ofKey.remove(hold);
                return ofKey.isEmpty() ? null : ofKey;
            });
        }
    }

    /** Keeps a hold whose release waits for the end of transactions, until {@link #resumed} or {@link #remove}. */
    void defer(LeaseHold hold) {
        deferred.compute(hold.name(), (name, existing) -> {
            Set<LeaseHold> ofName = existing == null ? ConcurrentHashMap.newKeySet() : existing;
            ofName.add(hold);
            return ofName;
        });
    }

    /** Notes that the release of a hold no longer waits. */
    void resumed(LeaseHold hold) {
        deferred.computeIfPresent(hold.name(), (name, ofName) -> {
            ofName.remove(hold);
            return ofName.isEmpty() ? null : ofName;
        });
    }

    /** Returns the holds of this name whose release waits for the end of transactions. */
    public Collection<LeaseHold> deferred(String name) {
        return deferred.getOrDefault(name, Set.of());
    }

    void remove(LeaseHold hold) {
        holds.remove(hold);
        resumed(hold);
        byName.remove(hold.name(), hold);
        detach(hold);
    }

    int size() {
        return holds.size();
    }

    /** Returns the holds that are not lost and can still be released. */
    public Stream<LeaseHold> left() {
        return holds.stream().filter(hold -> !hold.isLost() && !hold.isForgotten());
    }

    /**
     * Checks that the calling thread may still acquire locks.
     *
     * @throws IllegalStateException if the service is closed, or if it is closing and the thread holds no lock
     */
    void checkAccepting() {
        phase.checkAccepting();
    }

    /** Closes the service: refuses further holds, and returns the existing ones. */
    public List<LeaseHold> close() {
        phase.close();
        return List.copyOf(holds);
    }
}
