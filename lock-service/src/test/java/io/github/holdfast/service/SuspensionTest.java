package io.github.holdfast.service;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** {@link SuspensionContract} on databases, and what a suspension costs there. */
@OnEachDatabase
class SuspensionTest extends SuspensionContract {

    private final Database database;
    private final CountingDataSource counting;
    private final Services onDatabase;

    SuspensionTest(Database database) {
        this.database = database;
        onDatabase = Services.on(database);
        counting = new CountingDataSource(database.dataSource());
    }

    @Override
    TestServices services(FakeTicker ticker) {
        return onDatabase;
    }

    private LockService counted() {
        return onDatabase.build(
                onDatabase.patientPoolOver(counting),
                builder -> builder.adjusted(ticker.inSettings()).withoutHousekeeping());
    }

    @Test
    void aRenewalThatIsAnsweredLaterDoesNotOutlastTheLease() throws Exception {
        LateAnswer late = new LateAnswer(database.dataSource());
        CountingDataSource looks = new CountingDataSource(late.dataSource());
        LockService slow = onDatabase.build(
                onDatabase.patientPoolOver(looks),
                builder -> builder.adjusted(ticker.inSettings()).withoutHousekeeping());
        LockHandle lock = slow.acquire(LockRequest.of("renewed").lease(ofHours(1)));
        FutureTask<Duration> renewal = new FutureTask<>(() -> {
            late.choose();
            lock.renew(ofHours(2));
            return lock.remaining();
        });
        new Thread(renewal).start();
        late.awaitDone();
        looks.reset();
        suspend(ofMinutes(30));
        soon().until(() -> looks.statements() == 1);
        awaitAnotherLook();
        late.answer();
        assertThat(renewal.get(60, TimeUnit.SECONDS)).isBetween(ofMinutes(80), ofMinutes(90));
        lock.close();
    }

    @Test
    void aWallClockThatIsSetCostsOneLookForEachLeaseAndNoLock() throws Exception {
        LockService mine = counted();
        LockHandle one = mine.acquire(LockRequest.of("set 1").lease(ofHours(1)));
        LockHandle two = mine.acquire(LockRequest.of("set 2").lease(ofHours(1)));
        for (Duration step : new Duration[] {ofMinutes(10), ofMinutes(-10)}) {
            counting.reset();
            ticker.suspend(step);
            soon().until(() -> counting.sql().size() >= 2);
            await().during(ofMillis(300)).until(() -> counting.sql().size() == 2);
        }
        for (LockHandle lock : new LockHandle[] {one, two}) {
            assertThat(lock.state()).isEqualTo(LockState.HELD);
            assertThat(lock.remaining()).isGreaterThan(ofMinutes(59));
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void clocksThatPartByLessOrWhenNothingIsHeldCostNothing() throws Exception {
        LockService mine = counted();
        mine.acquire(LockRequest.of("idle").lease(ofHours(1))).close();
        awaitAnotherLook();
        ticker.suspend(ofHours(1));
        awaitAnotherLook();
        LockHandle lock = mine.acquire(LockRequest.of("slewed").lease(ofHours(1)));
        counting.reset();
        ticker.suspend(ofMillis(999));
        await().during(ofMillis(300)).until(() -> counting.sql().isEmpty());
        lock.close();
    }
}
