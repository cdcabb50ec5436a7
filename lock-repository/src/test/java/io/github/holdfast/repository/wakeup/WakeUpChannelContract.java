package io.github.holdfast.repository.wakeup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

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
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** When a release notifies, and what becomes of the connection that listens. */
abstract class WakeUpChannelContract {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int SOON = 20;

    private Database database;
    private TestApplication application;
    private TestApplication otherApplication;

    /** Releases. */
    private PostgresWakeUpChannel channel;

    /** Listens. */
    private WakeUpChannel listening;

    private final TestThreads threads = new TestThreads();

    @BeforeEach
    void open(Database injected) {
        database = injected;
        application = TestApplication.on(database);
        otherApplication = TestApplication.on(database);
        database.execute("delete from distributed_lock", "delete from lock_node", "delete from lock_waiter");
        channel = (PostgresWakeUpChannel)
                application.store().wakeUpChannel(Runnable::run).orElseThrow();
        listening = otherApplication.store().wakeUpChannel(Runnable::run).orElseThrow();
    }

    @AfterEach
    void close() {
        threads.close();
        application.close();
        otherApplication.close();
    }

    /** Lets a node wait for a lock, with the bell of the channel that listens. */
    private void waiting(String id, String name) {
        application.call(locks -> {
            application.store().nodes().register(id, LEASE, null);
            return application.store().nodes().markWaiting(id, LEASE, listening.bell());
        });
        application.store().waiters(LEASE).add(new Ticket(name, 1, "waiter", id, WaitMode.EXCLUSIVE, false));
    }

    private boolean release(LockEntity held, LockEntity after) {
        return application.call(locks -> locks.releaseAndWake(held, after));
    }

    private LockEntity held(String name) {
        return application.grant(name, "me", LEASE);
    }

    /** What is heard on a thread of its own. */
    private final class Heard implements WakeUpChannel.Receiver, AutoCloseable {
        private final BlockingQueue<String> payloads = new LinkedBlockingQueue<>();
        private final CountDownLatch ready = new CountDownLatch(1);
        private volatile boolean isOpen = true;

        Heard() throws InterruptedException {
            var unused = threads.start(() -> {
                listening.listen(this);
                return null;
            });
            assertThat(ready.await(SOON, TimeUnit.SECONDS)).isTrue();
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
        public void woken(Supplier<List<String>> free) {}

        @Override
        public void awaitedElsewhere(String lockName) {}

        @Override
        public void lockReleased(String lockName) {
            payloads.add(lockName);
        }

        /** Those until now, in the order of their commits. */
        List<String> soFar() throws InterruptedException {
            String last = UUID.randomUUID().toString();
            database.queryForString(
                    "select pg_notify('" + channel.name() + "', '" + listening.bell() + " " + last + "')");
            List<String> heard = new ArrayList<>();
            while (true) {
                String payload = payloads.poll(SOON, TimeUnit.SECONDS);
                if (last.equals(payload)) {
                    return heard;
                }
                heard.add(payload);
            }
        }

        @Override
        public void close() {
            isOpen = false;
        }
    }

    // Notifying

    @Test
    void theCommitOfAReleaseNotifiesIfAnotherNodeWaits() throws Exception {
        try (Heard heard = new Heard()) {
            waiting("other", "job");
            LockEntity held = held("job");
            application.call(locks -> {
                assertThat(locks.releaseAndWake(held, held.withHoldCount(0))).isTrue();
                try {
                    assertThat(heard.soFar()).as("before the commit").isEmpty();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                return true;
            });
            assertThat(heard.soFar()).containsExactly("job");
        }
    }

    @Test
    void onlyTheServiceThatHasWaitedLongestIsNotified() throws Exception {
        try (Heard heard = new Heard()) {
            waiting("other", "job");
            application.call(locks -> {
                application.store().nodes().register("first", LEASE, null);
                return application.store().nodes().markWaiting("first", LEASE, 77L);
            });
            Ticket first = new Ticket("job", 0, "waiter", "first", WaitMode.EXCLUSIVE, false);
            application.store().waiters(LEASE).add(first);
            LockEntity held = held("job");
            assertThat(release(held, held.withHoldCount(0))).isTrue();
            channel.wakeNext("job");
            assertThat(heard.soFar()).isEmpty();
            application.store().waiters(LEASE).remove(first);
            channel.wakeNext("job");
            channel.wakeNext("nobody waits for this");
            assertThat(heard.soFar()).containsExactly("job");
        }
    }

    @Test
    void aReleaseThatIsRolledBackNotifiesNobody() throws Exception {
        try (Heard heard = new Heard()) {
            waiting("other", "job");
            LockEntity held = held("job");
            boolean released = application.rolledBack(locks -> locks.releaseAndWake(held, held.withHoldCount(0)));
            assertThat(released).isTrue();
            assertThat(heard.soFar()).isEmpty();
            assertThat(application.read("job").row().owner()).isEqualTo("me");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "delete from lock_node",
                "update lock_node set waits_until = null",
                "update lock_node set waits_until = clock_timestamp()",
                "update lock_node set ended = true",
                "delete from lock_waiter",
                "update lock_waiter set name = 'another'"
            })
    void nobodyIsNotifiedIfNoOtherNodeWaits(String sql) throws Exception {
        try (Heard heard = new Heard()) {
            waiting("other", "job");
            database.execute(sql);
            LockEntity held = held("job");
            assertThat(release(held, held.withHoldCount(0))).isTrue();
            assertThat(heard.soFar()).isEmpty();
        }
    }

    @Test
    void whatIsStillHeldNotifiesNobody() throws Exception {
        try (Heard heard = new Heard()) {
            waiting("other", "job");
            LockEntity held = held("job");
            LockEntity twice = held.reentered();
            assertThat(application.<Boolean>call(locks -> locks.extend(held, twice, LEASE)))
                    .isTrue();
            assertThat(release(twice, twice.released())).isTrue();
            assertThat(application.read("job").row().holdCount()).isEqualTo(1);
            assertThat(heard.soFar()).isEmpty();
        }
    }

    @Test
    void aReleaseThatMissesNotifiesNobody() throws Exception {
        try (Heard heard = new Heard()) {
            waiting("other", "job");
            LockEntity held = held("job");
            database.execute(TestSql.touch("job"));
            assertThat(release(held, held.withHoldCount(0))).isFalse();
            assertThat(heard.soFar()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theRowIsFreeAsAfterAnyRelease(boolean isWaiting) {
        if (isWaiting) {
            waiting("other", "job");
        }
        LockEntity held = held("job");
        LockEntity other = held("another");
        assertThat(release(held, held.withHoldCount(0))).isTrue();
        assertThat(application.<Boolean>call(locks -> locks.release(other, other.withHoldCount(0))))
                .isTrue();
        LockEntity row = application.read("job").row();
        assertThat(row.version()).isEqualTo(held.version() + 1);
        assertThat(row.fencingToken()).isEqualTo(held.fencingToken());
        assertThat(row)
                .usingRecursiveComparison()
                .ignoringFields("name", "version", "fencingToken", "acquiredAt", "expiresAt")
                .isEqualTo(application.read("another").row());
        assertThat(row.expiresAt()).isBefore(held.expiresAt());
    }

    @Test
    void theLongestNameArrives() throws Exception {
        String longest = "\u6f22".repeat(LockEntity.MAX_NAME_LENGTH);
        try (Heard heard = new Heard()) {
            waiting("other", longest);
            LockEntity held = held(longest);
            assertThat(release(held, held.withHoldCount(0))).isTrue();
            assertThat(heard.soFar()).containsExactly(longest);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aReleaseIsOneStatement(boolean isWaiting) {
        if (isWaiting) {
            waiting("other", "job");
        }
        LockEntity held = held("job");
        application.dataSource().reset();
        assertThat(release(held, held.withHoldCount(0))).isTrue();
        assertThat(application.dataSource().statements()).isEqualTo(1);
        assertThat(application.dataSource().commits()).isEqualTo(1);
    }

    @Test
    void eachTableOfLocksHasAChannelOfItsOwn() {
        database.execute(
                "create schema other",
                "create table other.distributed_lock (like distributed_lock including all)",
                "create table other.lock_node (like lock_node including all)",
                "create table other.lock_audit (like lock_audit including all)",
                "create table other.lock_run (like lock_run including all)",
                "create table other.lock_holder (like lock_holder including all)",
                "create table other.lock_waiter (like lock_waiter including all)");
        assertThat(channelIn("public")).isEqualTo(channel.name()).isNotEqualTo(channelIn("other"));
        database.execute("drop schema other cascade");
    }

    private String channelIn(String schema) {
        Map<String, ?> properties = Map.of("hibernate.default_schema", schema);
        try (TestApplication other = TestApplication.on(database, pool -> {}, properties)) {
            return ((PostgresWakeUpChannel)
                            other.store().wakeUpChannel(Runnable::run).orElseThrow())
                    .name();
        }
    }

    // Listening

    @Test
    void aSessionThatNotificationsDoNotReachIsNotBelieved() throws Exception {
        Heard heard = new Heard();
        heard.close();
        try (Connection connection = database.dataSource().getConnection()) {
            PostgresNotifications notifications = new PostgresNotifications(connection, channel.name(), 1);
            assertThatThrownBy(() -> notifications.hear(
                            new Deaf(),
                            () -> {
                                // As after a pooler has given the next transaction another session.
                                execute(connection, "unlisten *");
                                return "never sent";
                            },
                            () -> {}))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("pooler");
        }
    }

    @Test
    void aConnectionThatNoLongerAnswersIsGivenUp() throws Exception {
        try (Connection connection = database.dataSource().getConnection()) {
            Connection silent = (Connection) Proxy.newProxyInstance(
                    getClass().getClassLoader(),
                    new Class<?>[] {Connection.class},
                    (self, method, arguments) ->
                            method.getName().equals("isValid") ? false : method.invoke(connection, arguments));
            PostgresNotifications notifications = new PostgresNotifications(silent, channel.name(), 1);
            assertThatThrownBy(() -> notifications.hear(
                            new Deaf(),
                            () -> {
                                execute(connection, "select pg_notify('" + channel.name() + "', ' probe')");
                                return " probe";
                            },
                            () -> {}))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("no longer answers");
        }
    }

    private static void execute(Connection connection, String sql) {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** Wants to hear for ever. */
    private static final class Deaf implements WakeUpChannel.Receiver {
        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void ready() {}

        @Override
        public void woken(Supplier<List<String>> free) {}

        @Override
        public void awaitedElsewhere(String lockName) {}

        @Override
        public void lockReleased(String lockName) {}
    }

    @Test
    void aPoolNeverHandsOutAConnectionThatBrokeWhileItListened() {
        try (HikariDataSource pool = database.pool(config -> {
                    config.setMaximumPoolSize(3);
                    config.addDataSourceProperty("ApplicationName", "listener");
                });
                EntityManagerFactory unit = PersistenceUnit.directlyOn(pool, Map.of())) {
            WakeUpChannel breaking =
                    LockStore.open(unit).wakeUpChannel(Runnable::run).orElseThrow();
            WakeUpChannel.Receiver receiver = new WakeUpChannel.Receiver() {
                @Override
                public boolean isOpen() {
                    return true;
                }

                @Override
                public void ready() {
                    database.queryForLong("select count(pg_terminate_backend(pid)) from pg_stat_activity"
                            + " where application_name = 'listener' and query like 'listen%'");
                }

                @Override
                public void woken(Supplier<List<String>> free) {}

                @Override
                public void awaitedElsewhere(String lockName) {}

                @Override
                public void lockReleased(String lockName) {}
            };
            assertThatThrownBy(() -> breaking.listen(receiver))
                    .isInstanceOfSatisfying(
                            StoreException.class,
                            failed -> assertThat(failed.failure()).isEqualTo(Failure.UNAVAILABLE));
            for (int i = 0; i < 3; i++) {
                assertThat(answers(pool)).isTrue();
            }
            await().until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
        }
    }

    /** Holds each connection while the next is taken. */
    private static boolean answers(HikariDataSource pool) {
        try (Connection one = pool.getConnection();
                Connection other = pool.getConnection()) {
            execute(one, "select 1");
            execute(other, "select 1");
            return true;
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void connectionsOfAnotherDriverWakeNobody() {
        DataSource foreign = new DelegatingDataSource(database.dataSource()) {
            @Override
            public Connection getConnection() throws SQLException {
                Connection real = super.getConnection();
                return (Connection) Proxy.newProxyInstance(
                        getClass().getClassLoader(),
                        new Class<?>[] {Connection.class},
                        (self, method, arguments) ->
                                method.getName().equals("isWrapperFor") ? false : method.invoke(real, arguments));
            }
        };
        try (EntityManagerFactory unit = PersistenceUnit.directlyOn(foreign, Map.of())) {
            assertThat(LockStore.open(unit).wakeUpChannel(Runnable::run)).isEmpty();
        }
    }
}
