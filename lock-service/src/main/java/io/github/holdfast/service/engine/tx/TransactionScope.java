package io.github.holdfast.service.engine.tx;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.SeparateGuard;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.service.engine.tx.GuardedHold.Granted;
import io.github.holdfast.service.engine.tx.GuardedHold.OfRow;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.support.TransactionSynchronization;

/** One transaction of a caller, with the holds under which it runs. Only the transaction's thread uses this object. */
public final class TransactionScope implements TransactionSynchronization {

    private static final Logger LOG = LoggerFactory.getLogger(TransactionScope.class);

    /** Whether the transaction commits only while its holds stand. */
    enum Kind {
        /** The manager reported the begin, and also reports the commit. */
        GUARDED(
                "the current transaction was already checked or has ended: acquire the lock inside the one that follows"),

        /** The manager reported the begin, and also reports the commit, but is not of the locks' persistence unit. */
        SEPARATE(
                "the lock service's transaction manager is not of the locks' persistence unit: the check before a commit has a"
                        + " connection of its own, which may break before the commit"),

        /** It writes nothing. */
        READ_ONLY(
                "the current transaction is read-only, and is not checked: acquire the lock inside the one that writes"),

        /** Another manager began it. */
        FOREIGN("the lock service's transaction manager did not begin the current transaction");

        private final String whyUnfenced;

        Kind(String whyUnfenced) {
            this.whyUnfenced = whyUnfenced;
        }

        /** Why transactions of this kind are not fenced. */
        String whyUnfenced() {
            return whyUnfenced;
        }
    }

    private final Object owner;
    private final CommitGuard guard;
    private final Kind kind;
    private final Set<Granted> holds = new LinkedHashSet<>();
    private final Set<OfRow> rowHolds = new LinkedHashSet<>();
    private final Set<Granted> checked = new HashSet<>();

    /** Revived holds under which it did not begin. */
    private final Set<Granted> late = new HashSet<>();

    /** Keeps rows locked while the transaction commits on another connection; null before that and afterwards. */
    private @Nullable SeparateGuard separate;

    private List<Granted> checkedSeparately = List.of();
    private boolean hasGuardBroken;

    private boolean hasBegun;

    /** How many entities its persistence context had loaded before it began. */
    private int loadedBefore;

    /** The grants that its thread was still releasing when it began. */
    private Set<Grant> seen = Set.of();

    /** @param owner the service's guard of transactions: a service that was closed and opened again has had two */
    TransactionScope(Object owner, CommitGuard guard, Kind kind) {
        this.owner = owner;
        this.guard = guard;
        this.kind = kind;
    }

    /** Begins under those holds of its thread that are not being released. */
    void begin(List<? extends Granted> holds, int loadedEntities) {
        loadedBefore = loadedEntities;
        seen = holds.stream().filter(hold -> !hold.isOpen()).map(Granted::grant).collect(Collectors.toSet());
        holds.forEach(this::add);
        hasBegun = true;
    }

    /** Whether it has loaded entities. This may be wrong about entities that it created, and about reads without entities. */
    boolean hasRead(int loadedEntities) {
        return loadedEntities > loadedBefore;
    }

    /** The grants under which nothing was committed since it began. */
    Set<Grant> seen() {
        return seen;
    }

    boolean isOf(Object transactions) {
        return owner == transactions;
    }

    boolean isGuarded() {
        return kind == Kind.GUARDED;
    }

    /** Whether the holds are checked before its commit. */
    boolean isChecked() {
        return isGuarded() || kind == Kind.SEPARATE;
    }

    /** Why the transaction is not fenced, although it has not ended. */
    String whyUnfenced() {
        return kind.whyUnfenced;
    }

    boolean isForeign() {
        return kind == Kind.FOREIGN;
    }

    void add(Granted hold) {
        if (hold.holdTransactions().begin(this)) {
            holds.add(hold);
            if (hasBegun && hold.isRevived()) {
                late.add(hold);
            }
        }
    }

    void add(OfRow hold) {
        if (hold.holdTransactions().begin(this) || hold.isLost()) {
            rowHolds.add(hold);
        }
    }

    /** The names of the row locks that it holds, in the order of acquisition. */
    public List<String> rowLockNames() {
        return rowHolds.stream().filter(OfRow::isFenced).map(OfRow::name).toList();
    }

    boolean contains(Granted hold) {
        return holds.contains(hold);
    }

    Optional<Granted> hold(String name, String holder) {
        return holds.stream()
                .filter(hold -> hold.name().equals(name) && hold.owner().equals(holder))
                .findFirst();
    }

    /** A lost hold of this name. Because of it, the transaction must not continue. */
    Optional<Granted> lost(String name) {
        return holds.stream()
                .filter(hold -> hold.name().equals(name) && hold.requiresFence() && hold.isLost())
                .findFirst();
    }

    /** Whether a release waits for the end of this transaction. */
    boolean delaysRelease() {
        return holds.stream().anyMatch(hold -> !hold.isOpen() && !hold.isLost());
    }

    /**
     * Locks the rows of the holds, if the transaction is checked.
     *
     * @throws LockLostException if a hold was lost
     * @throws LockStoreException if the database failed
     */
    void check() {
        checkLateHolds();
        List<Granted> fenced = holds.stream().filter(Granted::requiresFence).toList();
        if (isGuarded() && !fenced.isEmpty()) {
            check(fenced, guard::check);
            checked.addAll(fenced);
        } else if (isChecked() && !fenced.isEmpty()) {
            checkSeparately(fenced);
        }
        if (isChecked()) {
            rowHolds.stream().filter(hold -> !hold.isLockedBy(this)).forEach(OfRow::checkForCommit);
        }
    }

    private void checkSeparately(List<Granted> fenced) {
        // An inner transaction that shares this scope may have checked before.
        endSeparate();
        check(fenced, grants -> {
            separate = guard.checkSeparately(grants);
            return separate.gone();
        });
        checkedSeparately = fenced;
    }

    private void endSeparate() {
        if (separate != null) {
            hasGuardBroken = !separate.end();
            separate = null;
        }
    }

    /** Ends the guard before what other callbacks do after the commit, which may take long. */
    @Override
    public void afterCommit() {
        endSeparate();
    }

    /**
     * Checks that no snapshot is older than a revived hold. The row was not written, so the database does not notice that.
     *
     * @throws LockStoreException if one may be
     */
    void checkLateHolds() {
        Optional<Granted> fenced = late.stream().filter(Granted::requiresFence).findFirst();
        if (isGuarded() && fenced.isPresent() && guard.keepsSnapshot()) {
            throw new LockStoreException(
                    fenced.get().name(),
                    "was kept since its last release, and acquired after the transaction began, whose snapshot may miss what the"
                            + " previous holder committed. Acquire the lock before the transaction begins, or use READ COMMITTED",
                    StoreException.overtaken());
        }
    }

    /**
     * Checks the grants of holds.
     *
     * @param check locks the rows of the grants, and returns the grants that no longer stand
     * @throws LockLostException if a grant no longer stands
     * @throws LockStoreException if the database failed
     */
    static void check(Collection<Granted> holds, Function<Collection<Grant>, List<Grant>> check) {
        List<Grant> gone;
        try {
            gone = check.apply(holds.stream().map(Granted::grant).distinct().toList());
        } catch (StoreException failed) {
            throw failed(holds.iterator().next().name(), failed);
        }
        for (Granted hold : holds) {
            if (gone.contains(hold.grant())) {
                throw hold.lostInTransaction();
            }
        }
    }

    /**
     * Checks the snapshot of the calling thread's transaction, which read data before the hold was granted. The snapshot must
     * contain all earlier commits under the lock.
     *
     * @param seen the grants under which nothing was committed since the transaction began
     * @throws LockStoreException if the snapshot may miss such a commit, and the database itself would not notice that at the
     *     commit
     */
    static void checkSnapshot(Granted hold, CommitGuard guard, Set<Grant> seen) {
        boolean overlooks;
        try {
            overlooks = guard.snapshotMayMissCommits(hold.grant(), seen);
        } catch (StoreException failed) {
            throw new LockStoreException(
                    hold.name(), "was acquired, but the transaction's snapshot could not be checked", failed);
        }
        if (overlooks) {
            throw new LockStoreException(
                    hold.name(),
                    "was acquired too late: its row was written after the transaction's first read, which may have"
                            + " missed what the previous holder committed. Acquire the lock before that read, or use"
                            + " READ COMMITTED",
                    StoreException.overtaken());
        }
    }

    private static LockStoreException failed(String name, StoreException failed) {
        String why = failed.failure().isConflict()
                ? "could not be checked before the commit, because its row was written after the transaction's first"
                        + " read: the lock was lost, or was acquired or renewed after the transaction began"
                : "could not be checked before the commit";
        return new LockStoreException(name, why, failed);
    }

    @Override
    public void afterCompletion(int status) {
        endSeparate();
        // Even if the status is a rollback: managers report a failed commit as rolled back.
        if (hasGuardBroken && !checkedSeparately.isEmpty()) {
            TransactionWarnings.unguarded(checkedSeparately.get(0).name());
        }
        Set<Granted> failed = status == STATUS_COMMITTED ? Set.of() : checked;
        boolean isAnswered = failed.stream().anyMatch(this::isLockedOutside) && guard.rollBackFailedCommit();
        for (Granted hold : holds) {
            if (failed.contains(hold) && !(isAnswered && isLockedOutside(hold))) {
                hold.holdTransactions().undecided();
            }
            logged(hold.name(), () -> hold.completed(this, status == STATUS_COMMITTED && wasChecked(hold)));
        }
        rowHolds.forEach(hold -> logged(hold.name(), () -> hold.completed(this)));
    }

    /** Whatever one hold throws, the others must learn of the end. */
    private static void logged(String name, Runnable completed) {
        try {
            completed.run();
        } catch (RuntimeException | Error failed) {
            LogEvent.INTERNAL_FAILED
                    .of(name, LOG.atWarn())
                    .setCause(failed)
                    .log("The end of a transaction was not noted for lock '{}'", name);
        }
    }

    private boolean wasChecked(Granted hold) {
        return checked.contains(hold) || (!hasGuardBroken && checkedSeparately.contains(hold));
    }

    /**
     * Whether another transaction of this thread has locked the hold's row with {@code guard()}. The next transaction finds out by a write of
     * the row whether a failed commit may still happen. That write would wait for its own thread, so the connection must say it.
     */
    private boolean isLockedOutside(Granted hold) {
        return hold.holdTransactions().isLockedOutside(this);
    }
}
