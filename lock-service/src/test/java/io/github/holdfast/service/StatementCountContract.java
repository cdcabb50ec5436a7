package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.Database;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What each operation costs in statements and commits; the table in {@code docs/performance.md} is this one. */
abstract class StatementCountContract {

    private static final Path DOCUMENT = Path.of("..", "docs", "performance.md");
    private static final LockRequest REQUEST = LockRequest.of("counted").lease(ofSeconds(60));

    private final List<String> table = new ArrayList<>();

    @Test
    void eachOperationCostsWhatTheDocumentSays(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            CountingDataSource counting = new CountingDataSource(database.dataSource());
            LockService mine = services.open(pool -> pool.setDataSource(counting));
            LockService theirs = services.open();

            counting.reset();
            LockHandle first = mine.tryAcquire(REQUEST).orElseThrow();
            row("acquire, a name's first time", counting, 4, 3);
            first.release();
            row("release", counting, 1, 1);
            LockHandle outer = mine.acquire(REQUEST);
            row("acquire, free", counting, 2, 1);
            LockHandle inner = mine.acquire(REQUEST);
            row("acquire, nested in the same thread", counting, 1, 1);
            outer.renew(ofSeconds(60));
            row("renew", counting, 1, 1);
            inner.release();
            row("release, nested", counting, 1, 1);
            outer.state();
            outer.remaining();
            outer.ensureValidFor(ofSeconds(1));
            row("state, remaining, ensureValidFor while that is left", counting, 0, 0);
            mine.find("counted");
            row("find", counting, 1, 1);
            outer.release();
            counting.reset();

            LockHandle held = theirs.acquire(REQUEST);
            assertThat(mine.tryAcquire(REQUEST)).isEmpty();
            row("tryAcquire, held by another", counting, 1, 1);
            held.release();

            LockHandle chosen = mine.acquire(REQUEST.owner("chosen"));
            row("acquire, free, chosen owner", counting, 2, 1);
            LockHandle again = mine.acquire(REQUEST.owner("chosen"));
            row("acquire, nested, chosen owner", counting, 2, 1);
            again.release();
            row("release, nested, chosen owner", counting, 1, 1);
            chosen.release();
            row("release, chosen owner, after others of the same owner", counting, 3, 1);
        }
        assertThat(document()).contains(String.join("\n", table));
    }

    private void row(String operation, CountingDataSource counting, int statements, int commits) {
        assertThat(counting.sql()).as(operation).hasSize(statements);
        assertThat(counting.commits()).as(operation + ": commits").isEqualTo(commits);
        assertThat(counting.rollbacks()).as(operation + ": rollbacks").isZero();
        counting.reset();
        table.add("| %s | %d | %d |".formatted(operation, statements, commits));
    }

    private static String document() throws IOException {
        return Files.readString(DOCUMENT);
    }
}
