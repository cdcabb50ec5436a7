package io.github.holdfast.repository.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.WaiterRows.Ticket;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.repository.store.TestSql;
import io.github.holdfast.repository.store.TestThreads;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Whom a release wakes on MySQL and MariaDB, and what becomes of the connection that listens. */
abstract class MysqlWakeUpChannelContract {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int SOON = 20;

    private Database database;
    private TestApplication application;

    /** Releases. */
    private WakeUpChannel channel;

    private final TestThreads threads = new TestThreads();
    private final ExecutorService rings = Executors.newSingleThreadExecutor();
    private final List<AutoCloseable> opened = new ArrayList<>();

    @BeforeEach
    void open(Database injected) {
        database = injected;
        application = TestApplication.on(database);
        database.execute("delete from distributed_lock", "delete from lock_node", "delete from lock_waiter");
        channel = application.store().wakeUpChannel(Runnable::run).orElseThrow();
    }

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable service : opened) {
            service.close();
        }
        rings.shutdown();
        threads.close();
        application.close();
    }

    /** A service that listens, with a node of its own. */
    private final class Listening implements WakeUpChannel.Receiver, AutoCloseable {
        private final String nodeId;
        private final BlockingQueue<String> names = new LinkedBlockingQueue<>();
        private final BlockingQueue<String> missed = new LinkedBlockingQueue<>();
        private volatile Runnable afterTheLook = () -> {};
        private final CountDownLatch ready = new CountDownLatch(1);
        private final HikariDataSource pool = database.pool(config -> config.setMaximumPoolSize(3));
        private final EntityManagerFactory unit = PersistenceUnit.directlyOn(pool, Map.of());
        private final LockStore store = LockStore.open(unit);
        private final WakeUpChannel own = store.wakeUpChannel(rings::execute).orElseThrow();
        private final Future<Void> listening;
        private volatile boolean isOpen = true;

        Listening(String nodeId) throws InterruptedException {
            this.nodeId = nodeId;
            opened.add(this);
            listening = threads.start(() -> {
                own.listen(this);
                return null;
            });
            assertThat(ready.await(SOON, TimeUnit.SECONDS)).isTrue();
            awaitSleep();
            application.call(locks -> {
                application.store().nodes().register(nodeId, LEASE, null);
                return application.store().nodes().markWaiting(nodeId, LEASE, own.bell());
            });
        }

        /** Waits until a ring arrives for sure: one before the sleep is lost. */
        private void awaitSleep() {
            await().until(() -> database.queryForLong(
                            "select count(*) from information_schema.processlist where info = 'select sleep("
                                    + MysqlBell.SLEEP_SECONDS + ")' and id = is_used_lock('holdfast:" + own.bell()
                                    + "')")
                    == 1);
        }

        Ticket waits(String name, long since) {
            Ticket ticket = new Ticket(name, since, "waiter", nodeId, WaitMode.EXCLUSIVE, false);
            application.store().waiters(LEASE).add(ticket);
            return ticket;
        }

        @Override
        public boolean isOpen() {
            return isOpen;
        }

        @Override
        public void ready() {
            ready.countDown();
        }

        @Override
        public void woken(Supplier<List<String>> free) {
            names.addAll(free.get());
            afterTheLook.run();
        }

        @Override
        public void awaitedElsewhere(String lockName) {}

        @Override
        public void lockReleased(String lockName) {
            missed.add(lockName);
        }

        String heard() throws InterruptedException {
            return names.poll(SOON, TimeUnit.SECONDS);
        }

        @Override
        public void close() {
            isOpen = false;
            await().until(() -> {
                own.stopListening();
                return listening.isDone();
            });
            unit.close();
            pool.close();
        }
    }

    private LockEntity held(String name) {
        return application.grant(name, "me", LEASE);
    }

    private boolean release(LockEntity held) {
        return application.store().autocommit(LEASE).releaseAndWake(held, held.withHoldCount(0));
    }

    private long rings() {
        return application.dataSource().sql().stream()
                .filter(sql -> sql.contains("kill query"))
                .count();
    }

    // Whom a release wakes

    @Test
    void aReleaseWakesTheServiceThatWaits() throws Exception {
        Listening other = new Listening("other");
        other.waits("job \u6f22", 1);
        LockEntity held = held("job \u6f22");
        application.dataSource().reset();
        assertThat(release(held)).isTrue();
        assertThat(other.heard()).isEqualTo("job \u6f22");
        assertThat(application.dataSource().statements()).isEqualTo(2);
        assertThat(rings()).isEqualTo(1);
    }

    @Test
    void onlyTheServiceThatHasWaitedLongestIsWoken() throws Exception {
        Listening second = new Listening("second");
        Listening first = new Listening("first");
        second.waits("job", 2);
        Ticket earliest = first.waits("job", 1);
        LockEntity held = held("job");
        assertThat(release(held)).isTrue();
        assertThat(first.heard()).isEqualTo("job");
        application.store().waiters(LEASE).remove(earliest);
        channel.wakeNext("job");
        assertThat(second.heard()).isEqualTo("job");
        assertThat(first.names).isEmpty();
        assertThat(second.names).isEmpty();
    }

    @Test
    void whoIsWokenHearsOnlyWhatIsFreeAndWhatItWaitsFor() throws Exception {
        Listening other = new Listening("other");
        other.waits("job", 1);
        other.waits("held", 1);
        held("held");
        LockEntity free = held("free");
        assertThat(release(free)).isTrue();
        assertThat(release(held("job"))).isTrue();
        assertThat(other.heard()).isEqualTo("job");
        channel.wakeNext("held");
        channel.wakeNext("job");
        // The second ring may come between the look after the first one and the next sleep.
        await().until(() -> other.names.contains("job") || other.missed.contains("job"));
        assertThat(other.names).doesNotContain("held", "free");
        assertThat(other.missed).doesNotContain("held", "free");
    }

    /** The connection neither sleeps nor looks then, so the ring ends nothing. */
    @Test
    void aRingBetweenTheLookAndTheNextSleepIsNotMissedForLong() throws Exception {
        Listening other = new Listening("other");
        other.waits("job", 1);
        other.waits("next", 1);
        LockEntity next = held("next");
        AtomicBoolean isReleased = new AtomicBoolean();
        other.afterTheLook = () -> {
            if (!isReleased.getAndSet(true)) {
                assertThat(release(next)).isTrue();
            }
        };
        assertThat(release(held("job"))).isTrue();
        assertThat(other.heard()).isEqualTo("job");
        await().until(() -> other.missed.contains("next"));
        assertThat(other.names).doesNotContain("next");
    }

    /** Otherwise a place that nobody has any more would stay at the head of the queue. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "expires_at = utc_timestamp(6) - interval 1 second",
                "expires_at = null, node_id = 'ended'",
                "expires_at = null, node_id = 'absent'"
            })
    void whoIsWokenHearsOfTheLockOfADeadHolder(String changes) throws Exception {
        application.register("ended");
        database.execute("update lock_node set ended = true");
        Listening other = new Listening("other");
        other.waits("job", 1);
        held("job");
        other.waits("not yet", 1);
        held("not yet");
        database.execute(
                "update distributed_lock set " + changes,
                "update distributed_lock set available_at = utc_timestamp(6) + interval 1 hour where name = 'not yet'");
        channel.wakeNext("job");
        assertThat(other.heard()).isEqualTo("job");
        assertThat(other.names).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "delete from lock_waiter",
                "update lock_waiter set name = 'another'",
                "delete from lock_node",
                "update lock_node set ended = true",
                "update lock_node set waits_until = null",
                "update lock_node set waits_until = started_at",
                "update lock_node set bell = null"
            })
    void nobodyIsWokenIfNobodyWaitsOrListens(String sql) throws Exception {
        Listening other = new Listening("other");
        other.waits("job", 1);
        database.execute(sql);
        LockEntity held = held("job");
        application.dataSource().reset();
        assertThat(release(held)).isTrue();
        assertThat(application.dataSource().statements()).isEqualTo(1);
        channel.wakeNext("job");
        assertThat(rings()).isZero();
    }

    @Test
    void aServiceDoesNotWakeItself() throws Exception {
        Listening own = new Listening("own");
        own.waits("job", 1);
        LockEntity held = held("job");
        assertThat(own.store.autocommit(LEASE).releaseAndWake(held, held.withHoldCount(0)))
                .isTrue();
        assertThat(application.read("job").row().owner()).isNull();
        own.own.wakeNext("job");
        own.isOpen = false;
        own.own.stopListening();
        own.listening.get(SOON, TimeUnit.SECONDS);
        // The last ring only ends the sleep, but the thread has then looked for free locks.
        assertThat(own.names.size()).isLessThanOrEqualTo(1);
    }

    @Test
    void aReleaseThatMissesWakesNobody() throws Exception {
        Listening other = new Listening("other");
        other.waits("job", 1);
        LockEntity held = held("job");
        database.execute(TestSql.touch("job"));
        application.dataSource().reset();
        assertThat(release(held)).isFalse();
        assertThat(rings()).isZero();
    }

    @Test
    void theRowIsFreeAsAfterAnyRelease() throws Exception {
        Listening other = new Listening("other");
        other.waits("job", 1);
        LockEntity held = held("job");
        LockEntity another = held("another");
        assertThat(release(held)).isTrue();
        assertThat(application.<Boolean>call(locks -> locks.release(another, another.withHoldCount(0))))
                .isTrue();
        LockEntity row = application.read("job").row();
        assertThat(row.version()).isEqualTo(held.version() + 1);
        assertThat(row)
                .usingRecursiveComparison()
                .ignoringFields("name", "version", "fencingToken", "acquiredAt", "expiresAt")
                .isEqualTo(application.read("another").row());
    }

    @Test
    void aReleaseInATransactionWakesAfterItsCommit() throws Exception {
        Listening other = new Listening("other");
        other.waits("job", 1);
        LockEntity held = held("job");
        application.dataSource().reset();
        assertThat(application.<Boolean>call(locks -> {
                    boolean released = locks.releaseAndWake(held, held.withHoldCount(0));
                    assertThat(rings()).as("before the commit").isZero();
                    return released;
                }))
                .isTrue();
        assertThat(application.read("job").row().owner()).isNull();
        assertThat(other.heard()).isEqualTo("job");
        assertThat(rings()).isEqualTo(1);
    }

    @Test
    void aReleaseThatIsRolledBackWakesNobody() throws Exception {
        Listening other = new Listening("other");
        other.waits("job", 1);
        LockEntity held = held("job");
        application.dataSource().reset();
        boolean released = application.rolledBack(locks -> locks.releaseAndWake(held, held.withHoldCount(0)));
        assertThat(released).isTrue();
        assertThat(application.read("job").row().owner()).isEqualTo("me");
        assertThat(rings()).isZero();
    }

    @Test
    void aBellThatNobodyHasIsRungWithoutAnError() throws Exception {
        Listening other = new Listening("other");
        other.waits("job", 1);
        database.execute("update lock_node set bell = 4711");
        LockEntity held = held("job");
        application.dataSource().reset();
        assertThat(release(held)).isTrue();
        assertThat(rings()).isEqualTo(1);
    }

    // Listening

    @Test
    void aPoolThatIsTooSmallListensToNothing() {
        try (HikariDataSource pool = database.pool(config -> config.setMaximumPoolSize(2));
                EntityManagerFactory unit = PersistenceUnit.directlyOn(pool, Map.of())) {
            assertThat(LockStore.open(unit).canListen()).isFalse();
        }
    }

    /** Its pool logs no failure. */
    @Test
    void theConnectionIsNotGivenBackToItsPool() throws Exception {
        Listening other = new Listening("other");
        long session = owner(other.own.bell());
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger poolLogger = (Logger) LoggerFactory.getLogger("com.zaxxer.hikari");
        poolLogger.addAppender(log);
        other.isOpen = false;
        other.own.stopListening();
        other.listening.get(SOON, TimeUnit.SECONDS);
        poolLogger.detachAppender(log);
        assertThat(log.list)
                .filteredOn(line -> line.getLevel().isGreaterOrEqual(Level.WARN)
                        && line.getFormattedMessage().contains(other.pool.getPoolName()))
                .isEmpty();
        assertThat(other.own.bell()).isNull();
        await().until(() ->
                database.queryForLong("select count(*) from information_schema.processlist where id = " + session)
                        == 0);
        await().until(() -> other.pool.getHikariPoolMXBean().getActiveConnections() == 0);
        for (int i = 0; i < 3; i++) {
            assertThat(sessionOf(other.pool)).isNotEqualTo(session);
        }
    }

    private long owner(@Nullable Long bell) {
        return database.queryForLong("select is_used_lock('holdfast:" + bell + "')");
    }

    private static long sessionOf(HikariDataSource pool) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("select connection_id()")) {
            result.next();
            return result.getLong(1);
        }
    }

    @Test
    void aBrokenConnectionEndsTheListening() throws Exception {
        Listening other = new Listening("other");
        database.execute("kill " + owner(other.own.bell()));
        assertThatThrownBy(() -> other.listening.get(SOON, TimeUnit.SECONDS))
                .cause()
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failed -> assertThat(failed.failure()).isEqualTo(Failure.UNAVAILABLE));
        assertThat(other.own.bell()).isNull();
    }

    @Test
    void aConnectionThatNoRingReachesIsNotBelieved() throws Exception {
        try (Connection connection = database.dataSource().getConnection()) {
            MysqlBell bell = new MysqlBell(connection);
            bell.install();
            assertThatThrownBy(() -> bell.prove(() -> {}, () -> true))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("No wake-up arrives");
        }
    }

    @Test
    void aRingBetweenTwoSleepsDoesNotHurtTheNextStatement() throws Exception {
        try (Connection connection = database.dataSource().getConnection();
                Connection ringing = database.dataSource().getConnection()) {
            MysqlBell bell = new MysqlBell(connection);
            List<Future<?>> proofs = new ArrayList<>();
            bell.install();
            bell.prove(() -> proofs.add(rings.submit(() -> MysqlBell.ring(ringing, bell.number()))), () -> true);
            for (Future<?> proof : proofs) {
                proof.get();
            }
            for (int i = 0; i < 100; i++) {
                assertThat(MysqlBell.ring(ringing, bell.number())).isTrue();
                try (Statement statement = connection.createStatement();
                        ResultSet result = statement.executeQuery("select sleep(0.001)")) {
                    result.next();
                    assertThat(result.getInt(1)).isZero();
                }
            }
        }
    }
}
