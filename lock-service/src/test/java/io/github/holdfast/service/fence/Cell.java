package io.github.holdfast.service.fence;

import io.github.holdfast.service.fence.Hold.Trait;
import io.github.holdfast.test.TestDatabase;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.springframework.transaction.annotation.Isolation;

/** A way to hold a lock, a way to lose it, a way to commit, and the transaction's isolation level. */
record Cell(Hold hold, Loss loss, Commit commit, Isolation isolation) {

    private static final List<Isolation> LEVELS =
            List.of(Isolation.READ_COMMITTED, Isolation.REPEATABLE_READ, Isolation.SERIALIZABLE);

    /** All cells that there are on a kind of database. */
    static List<Cell> product(TestDatabase kind, List<Loss> losses) {
        List<Cell> cells = new ArrayList<>();
        for (Hold hold : Hold.values()) {
            for (Loss loss : losses) {
                for (Commit commit : Commit.values()) {
                    for (Isolation isolation : LEVELS) {
                        cells.add(new Cell(hold, loss, commit, isolation));
                    }
                }
            }
        }
        cells.removeIf(cell -> cell.whyNone(kind).isPresent());
        return cells;
    }

    /** All that are plain, and others, until each two values of different kinds have met in one of them. */
    static List<Cell> representative(TestDatabase kind, List<Loss> losses) {
        List<Cell> others = product(kind, losses);
        List<Cell> cells = new ArrayList<>(others.stream()
                .filter(cell -> cell.commit == Commit.PLAIN && cell.isolation == ofServer(kind))
                .toList());
        Set<List<Object>> met = new HashSet<>();
        cells.forEach(cell -> met.addAll(cell.pairs()));
        Collections.shuffle(others, new Random(43));
        others.stream().filter(cell -> met.addAll(cell.pairs())).forEach(cells::add);
        return cells;
    }

    private List<List<Object>> pairs() {
        return List.of(
                List.of(hold, loss),
                List.of(hold, commit),
                List.of(hold, isolation),
                List.of(loss, commit),
                List.of(loss, isolation),
                List.of(commit, isolation));
    }

    private static Isolation ofServer(TestDatabase kind) {
        return switch (kind) {
            case MYSQL, MARIADB -> Isolation.REPEATABLE_READ;
            default -> Isolation.READ_COMMITTED;
        };
    }

    /** Why there is no such cell on a kind of database; empty if there is one. */
    Optional<String> whyNone(TestDatabase kind) {
        if (!loss.databases().test(kind)) {
            return Optional.of("this database does not have the loss");
        }
        if (commit == Commit.DDL && kind == TestDatabase.POSTGRESQL) {
            return Optional.of("DDL is part of the transaction");
        }
        return loss.wanting().apply(hold).or(this::whyNoneAnywhere);
    }

    private Optional<String> whyNoneAnywhere() {
        String why = null;
        if (commit == Commit.HELD_BESIDE && (hold.is(Trait.CALLBACK) || hold.is(Trait.INSIDE))) {
            why = "it cannot begin in a suspended transaction and last until after that";
        } else if (hold == Hold.CALLERS_ROW_LOCK
                && (commit == Commit.ENTITY_TRANSACTION || commit == Commit.OTHER_MANAGER)) {
            why = "a row lock joins transactions of the service's manager only";
        } else if (commit == Commit.ENTITY_TRANSACTION && (hold.is(Trait.ROW_LOCK) || hold.is(Trait.WITHOUT_HANDLE))) {
            why = "there is no guard(em) to call";
        } else if (commit == Commit.ENTITY_TRANSACTION && isolation != Isolation.READ_COMMITTED) {
            why = "it has the isolation level of its connection";
        } else if (loss.equals(Loss.FORCED) && hold.is(Trait.ROW_LOCK)) {
            why = "a forced release does not see row locks";
        }
        return Optional.ofNullable(why);
    }

    /** Whether the loss ends the session that writes, so that nothing of it can be committed in any way. */
    boolean isWithoutConnection() {
        return hold == Hold.CALLERS_ROW_LOCK
                && commit != Commit.REQUIRES_NEW
                && (loss.equals(Loss.SESSION_KILLED) || loss.equals(Loss.IDLE_IN_TRANSACTION));
    }

    @Override
    public String toString() {
        return hold + " x " + loss + " x " + commit + " x " + isolation;
    }
}
