package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@link OldSnapshotContract} on every database. */
class OldSnapshotTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends OldSnapshotContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends OldSnapshotContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    @Tag("other-database")
    class OnMariaDb extends OnInnoDb {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    @Tag("other-database")
    class OnMySql extends OnInnoDb {}

    abstract static class OnInnoDb extends OldSnapshotContract {

        // On other databases a transaction cannot lock the row of a grant that it does not see.

        @Test
        void whoeverHasMissedNothingGoesOn(Database database) {
            LockRequest request = LockRequest.of("missed nothing");
            try (Bookkeeper mine = Bookkeeper.on(database.pool(Isolation.REPEATABLE_READ::set), builder -> builder)) {
                mine.underLock(
                        request, lock -> mine.inTransaction(em -> Ledger.post(em, lock.fencingToken(), () -> {})));
                readThenPost(mine, request);
            }
            assertThat(ledger.amount()).isEqualTo(2);
        }

        /** A release that waited for the transaction's end is written while the next one reads. */
        @Test
        void whoeverFollowsOneselfGoesOn(Database database) {
            try (Bookkeeper mine = Bookkeeper.on(database.pool(Isolation.REPEATABLE_READ::set), builder -> builder)) {
                for (int done = 0; done < 200; done++) {
                    readThenPost(mine, LockRequest.of("followed"));
                }
            }
            assertThat(ledger.amount()).isEqualTo(200);
        }

        @Test
        void whoeverIsTheFirstGoesOn(Database database) {
            try (Bookkeeper mine = Bookkeeper.on(database.pool(Isolation.REPEATABLE_READ::set), builder -> builder)) {
                for (int done = 0; done < 5; done++) {
                    readThenPost(mine, LockRequest.of("first " + done));
                }
            }
            assertThat(ledger.amount()).isEqualTo(5);
        }

        private void readThenPost(Bookkeeper mine, LockRequest request) {
            mine.inTransaction(em -> {
                Ledger.read(em);
                mine.underLock(request, lock -> Ledger.post(em, lock.fencingToken(), () -> {}));
            });
        }

        /** What an open-in-view filter has loaded for an earlier transaction tells nothing of this one. */
        @Test
        void onlyWhatTheTransactionItselfHasLoadedCounts(Database database) {
            LockRequest request = LockRequest.of("in view");
            try (Bookkeeper mine = Bookkeeper.on(database.pool(Isolation.REPEATABLE_READ::set), builder -> builder);
                    Bookkeeper theirs =
                            Bookkeeper.on(database.pool(Isolation.REPEATABLE_READ::set), builder -> builder)) {
                mine.inView(em -> {
                    mine.inTransaction(Ledger::read);
                    mine.inTransaction(sameEm -> {
                        mine.underLock(LockRequest.of("other"), lock -> {});
                        CompletableFuture.runAsync(() -> theirs.underLock(
                                        request,
                                        lock -> theirs.inTransaction(
                                                theirEm -> Ledger.post(theirEm, lock.fencingToken(), () -> {}))))
                                .join();
                        mine.underLock(request, lock -> {
                            sameEm.clear();
                            Ledger.post(sameEm, lock.fencingToken(), () -> {});
                        });
                    });
                });
            }
            assertThat(ledger.amount()).isEqualTo(2);
        }
    }
}
