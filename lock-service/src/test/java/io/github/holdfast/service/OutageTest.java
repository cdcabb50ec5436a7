package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The database is down, or the tables are not there. */
@Tag("outage")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
class OutageTest {

    private static final LockRequest REQUEST = LockRequest.of("outage").lease(ofSeconds(60));

    @Test
    void whileTheDatabaseIsDownAcquireFailsWithinTheWaitTimeAndOneConnectionTimeout(Database database)
            throws Exception {
        try (Services services = Services.on(database)) {
            FaultyDataSource faults = new FaultyDataSource(database.dataSource());
            LockService service = services.openOver(faults);
            faults.down();
            long start = System.nanoTime();
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> service.acquire(REQUEST.waitAtMost(ofMillis(1500))))
                    .withMessageContaining("outage");
            // A wait of 1.5 s, a connection timeout of 1 s, and the rest for a slow machine.
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(ofMillis(1500), ofSeconds(20));
            assertThatThrownBy(() -> service.tryAcquire(REQUEST)).isInstanceOf(LockStoreException.class);
            assertThatThrownBy(() -> service.find("outage")).isInstanceOf(LockStoreException.class);
            faults.up();
            service.acquire(REQUEST).close();
        }
    }

    @Test
    void thoseWhoQueueWhileTheDatabaseIsDownAreNotToldThatSomebodyElseHasTheLock(Database database) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try (Services services = Services.on(database)) {
            FaultyDataSource faults = new FaultyDataSource(database.dataSource());
            LockService service = services.openOver(faults);
            faults.down();
            List<Callable<LockHandle>> callers =
                    Collections.nCopies(4, () -> service.acquire(REQUEST.waitAtMost(ofSeconds(1))));
            for (Future<LockHandle> caller : threads.invokeAll(callers)) {
                assertThatThrownBy(caller::get)
                        .cause()
                        .isInstanceOf(LockStoreException.class)
                        .hasMessageContaining("outage");
            }
            faults.up();
            service.acquire(REQUEST).close();
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void anAcquireThatWaitsOutlivesAShortOutage(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            FaultyDataSource faults = new FaultyDataSource(database.dataSource());
            LockService service = services.openOver(faults);
            LockHandle held = services.open().acquire(REQUEST);
            Thread trouble = new Thread(() -> {
                faults.down();
                held.close();
                faults.up();
            });
            trouble.start();
            service.acquire(REQUEST.waitAtMost(ofSeconds(20))).close();
            trouble.join();
        }
    }

    @Test
    void aReleaseDuringAnOutageIsUnresolvedAndDoneWhenTheDatabaseIsBack(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            FaultyDataSource faults = new FaultyDataSource(database.dataSource());
            LockService service = services.openOver(faults);
            LockService other = services.open();
            LockHandle lock = service.acquire(REQUEST);
            LockHandle shared =
                    service.acquire(LockRequest.of("shared").owner("chosen").lease(ofSeconds(60)));
            faults.down();
            assertThatThrownBy(() -> lock.renew(ofSeconds(60))).isInstanceOf(LockStoreException.class);
            assertThat(lock.state()).isEqualTo(LockState.HELD);
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
            shared.close();
            assertThat(other.find("outage")).isPresent();
            faults.up();
            await().atMost(ofSeconds(60))
                    .until(() -> other.find("outage").isEmpty()
                            && other.find("shared").isEmpty());
        }
    }

    @Test
    void withoutTablesTheServiceIsNotBuiltAndTheMessageNamesThemAndTheChangelog(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            LockService service = services.open();
            database.execute("drop table distributed_lock", "drop table lock_node");
            assertThatThrownBy(() -> services.build(database.dataSource(), builder -> builder))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("distributed_lock")
                    .hasMessageContaining("db/changelog/holdfast/changelog.xml");
            assertThatThrownBy(() -> service.acquire(REQUEST))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("distributed_lock")
                    .hasMessageContaining("db/changelog/holdfast/changelog.xml");
        } finally {
            LockSchema.on(database.dataSource()).createIfMissing();
        }
    }

    /** An operator who has taken the rights or the tables away gives them back, hours before the lease is over. */
    @Test
    void aReleaseThatTheDatabaseRefusesIsDoneWhenItDoesNoMore(Database database) throws Exception {
        FakeTicker ticker = new FakeTicker();
        try (CapturedLog log = CapturedLog.of("io.github.holdfast.service.engine.row.InDoubtWrites", Level.DEBUG);
                Services services = Services.on(database)) {
            LockService service = services.build(builder -> builder.adjusted(ticker.inSettings()));
            LockHandle lock = service.acquire(REQUEST);
            database.execute("alter table distributed_lock rename to taken_away");
            try {
                assertThat(lock.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
                await().atMost(ofSeconds(60)).until(() -> {
                    ticker.advance(ofSeconds(31));
                    return at(Level.DEBUG, log).size() >= 2;
                });
            } finally {
                database.execute("alter table taken_away rename to distributed_lock");
            }
            await().atMost(ofSeconds(60)).until(() -> {
                ticker.advance(ofSeconds(31));
                return database.queryForLong("select count(*) from distributed_lock where owner is not null") == 0;
            });
            assertThat(at(Level.WARN, log))
                    .singleElement(STRING)
                    .contains("outage", "may stay held", "db/changelog/holdfast/changelog.xml");
        }
    }

    private static List<String> at(Level level, CapturedLog log) {
        return log.lines().stream()
                .filter(line -> line.getLevel() == level)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }
}
