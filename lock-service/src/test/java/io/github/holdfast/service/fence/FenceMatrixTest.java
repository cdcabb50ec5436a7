package io.github.holdfast.service.fence;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Crosses the ways to hold a lock, to lose it and to commit with the isolation levels: whatever is committed is committed before
 * another owner is granted the lock. The limits that a page names are listed in {@link Documented}.
 */
@OnEachDatabase
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FenceMatrixTest {

    private static final List<Loss> LOSSES = Loss.all();
    private static final List<Loss> NONE = List.of(Loss.NONE);

    private final Tally tally = new Tally();
    private final long start = System.nanoTime();
    private Fixture fixture;

    @BeforeAll
    void open(Database database) {
        fixture = new Fixture(database);
    }

    @AfterAll
    void close() throws Exception {
        fixture.close();
        System.out.printf(
                "%s on %s: %d cells in %d s%n%s%n%s%n",
                getClass().getSimpleName(),
                fixture.database().kind().label(),
                tally.cells(),
                (System.nanoTime() - start) / 1_000_000_000,
                "refused/still held/uncheckable/bug/vanished/not reached",
                tally.table(Stream.concat(NONE.stream(), LOSSES.stream()).toList()));
    }

    TestDatabase kind() {
        return fixture.database().kind();
    }

    /** The cells that are run. */
    List<Cell> cells(List<Loss> losses) {
        return Cell.representative(kind(), losses);
    }

    @ParameterizedTest
    @EnumSource
    void nothingIsCommittedBesideAnotherHolder(Hold hold) throws Exception {
        List<String> wrong = new ArrayList<>();
        for (Cell cell : of(hold, LOSSES)) {
            Trial trial = run(cell);
            boolean isListed = Documented.isLimit(cell);
            boolean isRight = switch (trial.verdict()) {
                case STILL_HELD, UNCHECKABLE -> true;
                case REFUSED -> !isListed || !trial.isGranted();
                case BUG, VANISHED, NOT_REACHED -> false;
            };
            if (!isRight) {
                wrong.add(trial.verdict() + (isListed ? " though listed: " : ": ") + cell + ": " + trial.thrown());
            }
        }
        assertThat(wrong).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void nothingIsRefusedWithoutALoss(Hold hold) throws Exception {
        List<String> wrong = new ArrayList<>();
        for (Cell cell : of(hold, NONE)) {
            Trial trial = run(cell);
            Verdict right = Documented.isRefusedWithoutLoss(cell, kind()) ? Verdict.REFUSED : Verdict.STILL_HELD;
            if (trial.verdict() != right) {
                wrong.add(trial.verdict() + ": " + cell + ": " + trial.thrown());
            }
        }
        assertThat(wrong).isEmpty();
    }

    @Test
    void eachLimitHasItsHeadingOnThePage() throws IOException {
        List<String> headings = Files.readAllLines(ProjectDirectory.resolve("docs/understand/guarantees.md")).stream()
                .filter(line -> line.startsWith("#"))
                .map(line -> line.replaceFirst("#+ ", ""))
                .toList();
        assertThat(headings).containsAll(Documented.sections().toList());
    }

    private List<Cell> of(Hold hold, List<Loss> losses) {
        return cells(losses).stream().filter(cell -> cell.hold() == hold).toList();
    }

    private Trial run(Cell cell) throws Exception {
        Trial trial = fixture.run(cell);
        tally.add(cell, trial.verdict());
        return trial;
    }
}
