package io.github.holdfast.service.fence;

import io.github.holdfast.service.fence.Hold.Trait;
import io.github.holdfast.test.TestDatabase;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.springframework.transaction.annotation.Isolation;

/**
 * A limit that docs/understand/guarantees.md names.
 *
 * @param section the heading under which the page names it
 */
record Documented(String section, Predicate<Cell> cells) {

    private static final String COMMIT = "No commit without the lock";
    private static final String ROW_LOCKS = "Row locks";

    /** What is committed beside another holder. */
    private static final List<Documented> ALL = List.of(
            // "transactions of other managers"
            new Documented(COMMIT, cell -> cell.commit() == Commit.OTHER_MANAGER),
            // "transactions that begin after `detach()`"
            new Documented(
                    COMMIT, cell -> cell.hold() == Hold.DETACHED_HANDLE && cell.commit() != Commit.ENTITY_TRANSACTION),
            // What is committed without Spring's knowledge.
            new Documented(COMMIT, cell -> cell.commit() == Commit.SECOND_MANAGER),
            new Documented(COMMIT, cell -> cell.commit() == Commit.BY_HAND),
            new Documented(COMMIT, cell -> cell.commit() == Commit.DDL),
            // "when the database ends the transaction without Spring noticing"
            new Documented(
                    ROW_LOCKS,
                    cell -> (cell.loss().equals(Loss.DDL) || cell.loss().equals(Loss.DEADLOCK))
                            && cell.commit() != Commit.REQUIRES_NEW),
            // "by a rollback to a savepoint", "if another session truncates or drops the table"
            new Documented(
                    ROW_LOCKS,
                    cell -> cell.hold() == Hold.CALLERS_ROW_LOCK
                            && (cell.loss().equals(Loss.SAVEPOINT)
                                    || cell.loss().takesTheTable())
                            && cell.commit() != Commit.REQUIRES_NEW));

    /** The lock is acquired after the transaction's first write, and the database compares what it sees with that. */
    private static final Documented ACQUIRED_LATE = new Documented(
            "Acquire before the first read",
            cell -> cell.commit() == Commit.HELD_BESIDE
                    && !cell.hold().is(Trait.ROW_LOCK)
                    && cell.hold() != Hold.DETACHED_HANDLE);

    /** Whether the commit is refused though the lock is held. */
    static boolean isRefusedWithoutLoss(Cell cell, TestDatabase kind) {
        return ACQUIRED_LATE.cells.test(cell)
                && switch (kind) {
                    case POSTGRESQL -> cell.isolation() != Isolation.READ_COMMITTED;
                    case MYSQL, MARIADB -> false;
                    default -> cell.isolation() == Isolation.SERIALIZABLE;
                };
    }

    /** Whether a commit beside another holder is no bug. */
    static boolean isLimit(Cell cell) {
        // Acquiring again fails before any commit.
        return !cell.isWithoutConnection()
                && !cell.loss().equals(Loss.SAVEPOINT_AND_AGAIN)
                && ALL.stream().anyMatch(limit -> limit.cells.test(cell));
    }

    /** The headings under which the page names the limits. */
    static Stream<String> sections() {
        return Stream.concat(ALL.stream(), Stream.of(ACQUIRED_LATE))
                .map(Documented::section)
                .distinct();
    }
}
