package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.WaiterInfo;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Keeps the acquisitions of one service that are under way. A row may already show their owners, before a hold is registered.
 * Thread-safe.
 */
public final class PendingAcquisitions {

    /** Matches no owner: an owner is never empty. */
    public static final String NOBODY = "";

    /** An acquisition under way. Two acquisitions are never equal: threads may share an owner, and virtual threads a name. */
    public interface Pending {

        String name();

        String owner();

        WaiterInfo info();
    }

    /** The owner of a lock that is being acquired. */
    record NameAndOwner(String name, String owner) {}

    private final Set<Pending> pending = ConcurrentHashMap.newKeySet();

    /**
     * The owners to which another thread is granting a lock. Reconciliations do not free their rows, even if their threads have
     * stopped waiting.
     */
    private final Set<NameAndOwner> granting = ConcurrentHashMap.newKeySet();

    /** Notes that an acquisition is under way, until {@link #end}. Reconciliations do not free its row. */
    public void begin(Pending acquisition) {
        pending.add(acquisition);
    }

    /** Notes that an acquisition has ended. Its hold, if any, must already be in the {@link HoldRegistry}. */
    public void end(Pending acquisition) {
        pending.remove(acquisition);
    }

    /** Notes that a thread grants a lock to another thread, until {@link #endGrant}. */
    void beginGrant(String name, String owner) {
        granting.add(new NameAndOwner(name, owner));
    }

    /** Notes that the grant has ended: its owner has the lock, or does not get it. */
    void endGrant(String name, String owner) {
        granting.remove(new NameAndOwner(name, owner));
    }

    /** Returns the acquisitions under way. */
    public Collection<Pending> all() {
        return pending;
    }

    /** Returns the owners that a row may show without a hold. */
    Set<NameAndOwner> owners() {
        return Stream.concat(
                        granting.stream(),
                        pending.stream().map(acquisition -> new NameAndOwner(acquisition.name(), acquisition.owner())))
                .collect(Collectors.toSet());
    }
}
