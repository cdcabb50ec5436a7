package io.github.holdfast.repository.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.store.OtherClient;
import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.repository.store.TestSql;
import io.github.holdfast.repository.store.TestThreads;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Pages of the tables of a database while other transactions lock rows, and what each call costs. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class LockTableRepositoryTest extends LockPageRepositoryContract {

    private final Database database;
    private final TestApplication onDatabase;

    LockTableRepositoryTest(Database database) {
        this.database = database;
        onDatabase = TestApplication.on(database);
        application = onDatabase;
    }

    @Test
    void pagesAreReadWhileRowsAreLocked() throws Exception {
        alive("alive");
        LockEntity row = heldThrough("alive", "locked");
        try (OtherClient other = OtherClient.lockingRow(database, "locked")) {
            other.execute(TestSql.touch("locked"));

            assertThat(held())
                    .singleElement()
                    .satisfies(seen -> assertThat(seen.row().version()).isEqualTo(row.version()));
            assertThat(names(table -> table.heldThrough("alive", "", 10))).containsExactly("locked");
        }
    }

    @Test
    void rowsThatAnotherTransactionHasLockedArePassedOver() throws Exception {
        List<String> all = List.of("a", "b", "c", "absent");
        List.of("a", "b", "c").forEach(application::create);
        try (OtherClient other = OtherClient.lockingRow(database, "b")) {
            assertThat(names(table -> table.lockUnlockedRows(all))).containsExactlyInAnyOrder("a", "c");
            other.commit();
        }
        assertThat(names(table -> table.lockUnlockedRows(all))).containsExactlyInAnyOrder("a", "b", "c");
    }

    @Test
    void rowsStayLockedUntilTheTransactionEnds() throws Exception {
        List<String> names = List.of("a");
        application.create("a");
        try (TestThreads threads = new TestThreads()) {
            Future<List<String>> meanwhile = application.call(locks -> {
                assertThat(application.store().pages().lockUnlockedRows(names)).hasSize(1);
                Future<List<String>> other = threads.start(() -> names(table -> table.lockUnlockedRows(names)));
                await().until(other::isDone);
                return other;
            });
            assertThat(meanwhile.get(60, TimeUnit.SECONDS)).isEmpty();
        }
        assertThat(names(table -> table.lockUnlockedRows(names))).containsExactly("a");
    }

    @Test
    void lockedRowsAreShownAsTheyStandAlthoughTheyWereReadBefore() throws Exception {
        LockEntity row = heldThrough("absent", "a");
        try (OtherClient other = OtherClient.of(database)) {
            LockEntity locked = application.call(locks -> {
                assertThat(application.store().pages().orphans("", 0, 10)).hasSize(1);
                other.commitUnchecked(TestSql.touch("a"));
                return application
                        .store()
                        .pages()
                        .lockUnlockedRows(List.of("a"))
                        .get(0);
            });
            assertThat(locked.version()).isEqualTo(row.version() + 1);
        }
    }

    // Statements

    @Test
    void eachMethodIsOneStatement() {
        assertOneStatement("select ", table -> application.store().search().held("", 10));
        assertOneStatement("select ", table -> table.heldThrough("node", "", 10));
        assertOneStatement("select ", table -> table.overdueNodes("", 0, 10));
        assertOneStatement("select ", table -> table.orphans("", 0, 10));
        assertOneStatement("select ", table -> table.idle("", A_WEEK_AGO, 10));
        assertOneStatement("select ", table -> table.idleNodes("", A_WEEK_AGO, 10));
        assertOneStatement("select ", table -> table.named(List.of("a", "b")));
        assertOneStatement("select ", table -> table.lockUnlockedRows(List.of("a", "b")));
        assertOneStatement("update distributed_lock", table -> table.takeFromHolder(List.of("a", "b"), 0));
        assertOneStatement("delete ", table -> table.purge(List.of("a", "b")));
        assertOneStatement("delete ", table -> table.purgeNodes(List.of("a", "b")));
    }

    private void assertOneStatement(String begin, Function<LockPageRepository, ?> work) {
        onDatabase.dataSource().reset();
        call(work);
        assertThat(onDatabase.dataSource().sql())
                .singleElement()
                .satisfies(sql -> assertThat(sql).startsWith(begin));
        assertThat(onDatabase.dataSource().commits()).isEqualTo(1);
    }
}
