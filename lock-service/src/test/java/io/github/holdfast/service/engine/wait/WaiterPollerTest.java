package io.github.holdfast.service.engine.wait;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.rows.WaiterRows;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@link WaiterPollerContract} on every kind of database. */
class WaiterPollerTest {

    private static final int MORE_THAN_ONE_LOOK_FINDS = WaiterRows.MOST_NAMES + 88;
    private static final int SMALL_STACK = 256 * 1024;

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends WaiterPollerContract {

        @Test
        void locksBeyondThoseOfOneLookAreFoundToo() throws Exception {
            database.execute("insert into distributed_lock"
                    + " (name, owner, hold_count, expires_at, acquired_at, fencing_token, version)"
                    + " select concat('lock ', x), 'somebody', 1, current_timestamp + interval '1' day,"
                    + " current_timestamp, 1, 1 from system_range(1, " + MORE_THAN_ONE_LOOK_FINDS + ")");
            LockService mine = polling();
            List<FutureTask<Void>> waiting = new ArrayList<>();
            for (int number = 1; number <= MORE_THAN_ONE_LOOK_FINDS; number++) {
                LockRequest request = LockRequest.of("lock " + number).waitForever();
                FutureTask<Void> waiter = new FutureTask<>(() -> {
                    mine.acquire(request).close();
                    return null;
                });
                new Thread(null, waiter, "waiter " + number, SMALL_STACK).start();
                waiting.add(waiter);
            }
            awaitThatOnlyThePollerLooks(MORE_THAN_ONE_LOOK_FINDS);
            // Few at first: who is behind many others would else be found when those have gone.
            free("name like '%7'");
            for (int number = 7; number <= MORE_THAN_ONE_LOOK_FINDS; number += 10) {
                get(waiting.get(number - 1));
            }
            free("owner is not null");
            for (FutureTask<Void> waiter : waiting) {
                get(waiter);
            }
        }

        private void free(String which) {
            database.execute("update distributed_lock set owner = null, hold_count = 0,"
                    + " expires_at = current_timestamp, version = version + 1 where " + which);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    @Tag("other-database")
    class OnPostgres extends WaiterPollerContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    @Tag("other-database")
    class OnMariaDb extends WaiterPollerContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    @Tag("other-database")
    class OnMySql extends WaiterPollerContract {}
}
