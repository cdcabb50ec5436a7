package io.github.holdfast.repository.rows;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rows of the waiters on a database: what each call costs. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class WaiterRowsTest extends WaiterRowsContract {

    private final TestApplication onDatabase;

    WaiterRowsTest(Database database) {
        onDatabase = TestApplication.on(database);
        application = onDatabase;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 8, 9, WaiterRows.MOST_NAMES})
    void oneStatementLooksAtManyLocks(int count) {
        List<String> names = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            names.add("it's \\ " + number + " ?");
        }
        names.forEach(this::lock);
        String last = names.get(count - 1);
        application.tables().update("HoldfastLock", heldUntil(60));
        application.call(locks -> {
            for (String free : new HashSet<>(List.of(names.get(0), last))) {
                LockEntity held = locks.read(free).orElseThrow().row();
                assertThat(locks.release(held, held.withHoldCount(0))).isTrue();
            }
            return locks;
        });
        CountingDataSource counting = onDatabase.dataSource();
        counting.reset();
        assertThat(waiters.available(names, Duration.ZERO))
                .hasSameElementsAs(new HashSet<>(List.of(names.get(0), last)));
        assertThat(counting.statements()).isEqualTo(1);
    }

    @Test
    void anotherNodeWaitsWhileItsMarkLasts() {
        AutocommitWaiterRows rows = (AutocommitWaiterRows) waiters;
        LockNodeRepository nodes = application.store().nodes();
        application.call(locks -> {
            nodes.register("node", LEASE, null);
            return locks;
        });
        assertThat(rows.isAnyNodeWaiting(null)).isFalse();
        application.call(locks -> nodes.markWaiting("node", LEASE, null));
        assertThat(rows.isAnyNodeWaiting(1L)).as("it polls").isTrue();
        application.call(locks -> nodes.markWaiting("node", LEASE, 1L));
        assertThat(rows.isAnyNodeWaiting(1L)).as("its own service").isFalse();
        assertThat(rows.isAnyNodeWaiting(2L)).isTrue();
        onDatabase.dataSource().reset();
        assertThat(rows.isAnyNodeWaiting(null)).isTrue();
        assertThat(onDatabase.dataSource().statements()).isEqualTo(1);
        application.tables().update("HoldfastNode", Map.of("ended", true));
        assertThat(rows.isAnyNodeWaiting(2L)).as("ended").isFalse();
        application.tables().update("HoldfastNode", Map.of("ended", false, "waitsUntil", application.clock()));
        assertThat(rows.isAnyNodeWaiting(2L)).as("the mark is over").isFalse();
    }

    @Test
    void eachCallIsOneStatement() {
        assertOneStatement(() -> waiters.add(ticket("job", "node")));
        assertOneStatement(() -> waiters.remove(ticket("job", "node")));
        assertOneStatement(() -> waiters.removeAll("job", "node"));
        assertOneStatement(
                () -> assertThat(waiters.countOtherNodes("job", "node")).isZero());
    }

    private void assertOneStatement(Runnable call) {
        CountingDataSource counting = onDatabase.dataSource();
        counting.reset();
        call.run();
        assertThat(counting.statements()).isEqualTo(1);
        assertThat(counting.sql()).allSatisfy(sql -> assertThat(sql).contains("lock_waiter"));
    }
}
