package io.github.holdfast.service;

import io.github.holdfast.repository.CommitGuard;
import io.github.holdfast.repository.Grant;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.springframework.transaction.support.TransactionSynchronization;

/** One transaction of a caller, and the holds that it runs under. Used by the transaction's thread only. */
final class TransactionScope implements TransactionSynchronization {

    /** Whether the transaction commits only while its holds stand. */
    enum Kind {
        /** The manager told of its begin, and will tell before it commits. */
        GUARDED,

        /** It writes nothing. */
        READ_ONLY,

        /** Another manager began it. */
        FOREIGN
    }

    private final Transactions owner;
    private final Kind kind;
    private final Set<Hold> holds = new LinkedHashSet<>();
    private final Set<RowHold> rowHolds = new LinkedHashSet<>();
    private final Set<Hold> deferred = new HashSet<>();
    private final Set<Hold> checked = new HashSet<>();

    /** How many entities were loaded before it began, by the persistence context that it uses. */
    private int loadedBefore;

    /** What its thread was still giving back when it began. */
    private Set<Grant> seen = Set.of();

    TransactionScope(Transactions owner, Kind kind) {
        this.owner = owner;
        this.kind = kind;
    }

    /** Begins under those holds of its thread that are not being released. */
    void begin(List<Hold> holds, int loadedEntities) {
        loadedBefore = loadedEntities;
        seen = holds.stream().filter(hold -> !hold.isOpen()).map(Hold::grant).collect(Collectors.toSet());
        holds.forEach(this::add);
    }

    /** Whether it has loaded entities; may be wrong about what it has made or read otherwise. */
    boolean hasRead(int loadedEntities) {
        return loadedEntities > loadedBefore;
    }

    /** Grants under which nothing was committed since it began. */
    Set<Grant> seen() {
        return seen;
    }

    boolean isOf(Transactions transactions) {
        return owner == transactions;
    }

    boolean isGuarded() {
        return kind == Kind.GUARDED;
    }

    boolean isForeign() {
        return kind == Kind.FOREIGN;
    }

    void add(Hold hold) {
        if (hold.coverage().begin(this)) {
            holds.add(hold);
        }
    }

    void add(RowHold hold) {
        if (hold.coverage().begin(this)) {
            rowHolds.add(hold);
        }
    }

    /** Which locks it holds by having their rows locked, in the order in which they were acquired. */
    List<String> rowLockNames() {
        return rowHolds.stream().filter(RowHold::isFenced).map(RowHold::name).toList();
    }

    boolean contains(Hold hold) {
        return holds.contains(hold);
    }

    Optional<Hold> hold(String name, String holder) {
        return holds.stream()
                .filter(hold -> hold.name().equals(name) && hold.owner().equals(holder))
                .findFirst();
    }

    /** A hold of this name that is lost, so that the transaction must not go on. */
    Optional<Hold> lost(String name) {
        return holds.stream()
                .filter(hold -> hold.name().equals(name)
                        && hold.isToBeFenced()
                        && hold.lifetime().isLost())
                .findFirst();
    }

    /** Notes a release that waits for this transaction; returns how many there are. */
    int defer(Hold hold) {
        deferred.add(hold);
        return deferred.size();
    }

    /**
     * Locks the rows of the holds, if the transaction is guarded.
     *
     * @throws LockLostException if one was lost
     * @throws LockStoreException if the database failed
     */
    void check(CommitGuard guard) {
        List<Hold> fenced = holds.stream().filter(Hold::isToBeFenced).toList();
        if (isGuarded() && !fenced.isEmpty()) {
            Guarding.check(fenced, guard::check);
            checked.addAll(fenced);
        }
        if (isGuarded()) {
            rowHolds.stream().filter(hold -> !hold.isCallers()).forEach(RowHold::checkForCommit);
        }
    }

    @Override
    public void afterCompletion(int status) {
        for (Hold hold : holds) {
            // Not only if the status is unknown: of a commit that failed, managers say that it was rolled back.
            if (status != STATUS_COMMITTED && checked.contains(hold)) {
                hold.coverage().undecided();
            }
            hold.end().completed(this, status == STATUS_COMMITTED && checked.contains(hold));
        }
        rowHolds.forEach(hold -> hold.completed(this));
    }
}
