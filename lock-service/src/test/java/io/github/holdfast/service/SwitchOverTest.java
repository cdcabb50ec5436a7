package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.RestartableDatabase;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** The server only reads for a while, or the connections that there are lead to one that does, as after a planned switch-over. */
@Tag("outage")
@OnEachDatabase({POSTGRESQL, MARIADB, MYSQL}) // Those that can be told to only read.
@TestInstance(Lifecycle.PER_CLASS) // One server of its own, which nobody else wants to write on.
class SwitchOverTest {

    private static final Duration SOON = ofSeconds(60);

    private static final LockRequest BY_LEASE = LockRequest.of("by lease").lease(ofMinutes(10));

    private final ExecutorService threads = Executors.newCachedThreadPool(Daemons.named("waiting"));

    private @Nullable RestartableDatabase restartable;

    @AfterEach
    void becomeWritable() {
        if (restartable != null) {
            writes(restartable.database());
        }
    }

    @AfterAll
    void close() {
        threads.shutdownNow();
        if (restartable != null) {
            restartable.close();
        }
    }

    private Database database(TestDatabase kind) {
        RestartableDatabase started = restartable == null ? RestartableDatabase.start(kind) : restartable;
        restartable = started;
        Database database = started.database();
        LockSchema.on(database.dataSource()).createIfMissing();
        Services.emptyTables(database);
        return database;
    }

    /** Sessions that there are, too. */
    private static void onlyReads(Database database) {
        switch (database.kind()) {
            case POSTGRESQL ->
                database.administer("alter system set default_transaction_read_only = on", "select pg_reload_conf()");
            case MARIADB -> database.administer("set global read_only = 1");
            default -> database.administer("set global super_read_only = 1");
        }
        await().atMost(SOON)
                .untilAsserted(() -> assertThatExceptionOfType(IllegalStateException.class)
                        .isThrownBy(() -> database.execute("delete from lock_audit")));
    }

    private static void writes(Database database) {
        switch (database.kind()) {
            case POSTGRESQL ->
                database.administer("alter system reset default_transaction_read_only", "select pg_reload_conf()");
            default -> database.administer("set global read_only = 0");
        }
        await().atMost(SOON).ignoreExceptions().until(() -> {
            database.execute("delete from lock_audit");
            return true;
        });
    }

    @Test
    void whatWasBegunWhileTheServerOnlyReadIsDoneWhenItWrites(Database shared) throws Exception {
        Database database = database(shared.kind());
        try (Services services = Services.on(database)) {
            LockService mine = services.open();
            LockService theirs = services.open();
            Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
            LockHandle kept = mine.acquire(LockRequest.of("kept")).onLost(losses::add);
            LockHandle byLease = mine.acquire(BY_LEASE);
            LockHandle byNode = mine.acquire(LockRequest.of("by node"));
            mine.acquire(LockRequest.of("free")).release();
            onlyReads(database);
            assertThat(byLease.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
            assertThat(byNode.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> theirs.acquire(LockRequest.of("free").waitAtMost(ofMillis(500))))
                    .withMessageContaining("is read-only");
            List<Future<ReleaseOutcome>> waiting = List.of(
                    threads.submit(() -> mine.acquire(LockRequest.of("free").waitAtMost(SOON))
                            .release()),
                    threads.submit(() -> theirs.acquire(LockRequest.of("new").waitAtMost(SOON))
                            .release()));
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> mine.acquire(LockRequest.of("other").waitAtMost(ofSeconds(1))));
            assertThat(waiting).noneMatch(Future::isDone);
            writes(database);
            for (Future<ReleaseOutcome> waiter : waiting) {
                assertThat(waiter.get(SOON.toSeconds(), TimeUnit.SECONDS)).isEqualTo(ReleaseOutcome.RELEASED);
            }
            await().atMost(SOON)
                    .untilAsserted(() -> assertThat(List.of(theirs.find("by lease"), theirs.find("by node")))
                            .containsOnly(Optional.empty()));
            assertThat(losses).isEmpty();
            assertThat(kept.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void connectionsThatLeadToTheOldPrimaryAreNotUsedAgain(Database shared) throws Exception {
        Database database = database(shared.kind());
        try (Services services = Services.on(database);
                Opened opened = new Opened(database.dataSource())) {
            HikariDataSource pool = database.pool(config -> {
                config.setDataSource(opened);
                config.setMaximumPoolSize(5);
                config.setMinimumIdle(5);
            });
            LockService mine = services.build(pool, builder -> builder);
            LockHandle byLease = mine.acquire(BY_LEASE);
            LockHandle byNode = mine.acquire(LockRequest.of("by node"));
            await().atMost(SOON).until(() -> pool.getHikariPoolMXBean().getIdleConnections() == 5);
            opened.onlyRead(database.kind());
            assertThat(byLease.release()).isEqualTo(ReleaseOutcome.RELEASED);
            opened.onlyRead(database.kind());
            mine.acquire(LockRequest.of("next").waitAtMost(ofSeconds(10))).close();
            opened.onlyRead(database.kind());
            mine.acquire(LockRequest.of("never held before").waitAtMost(ofSeconds(10)))
                    .close();
            assertThat(byNode.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    /** Connections as they come from the driver, of which those that there are may be told to only read. */
    private static final class Opened extends DelegatingDataSource implements AutoCloseable {

        private final List<Connection> connections = new CopyOnWriteArrayList<>();

        Opened(DataSource target) {
            super(target);
        }

        @Override
        public Connection getConnection() throws SQLException {
            Connection opened = super.getConnection();
            connections.add(opened);
            return opened;
        }

        void onlyRead(TestDatabase kind) {
            for (Connection connection : connections) {
                try (Statement statement = connection.createStatement()) {
                    statement.execute(
                            kind == TestDatabase.POSTGRESQL
                                    ? "set session characteristics as transaction read only"
                                    : "set session transaction read only");
                } catch (SQLException closed) {
                    // By the pool: it does nothing any more.
                }
            }
        }

        @Override
        public void close() throws SQLException {
            for (Connection connection : connections) {
                connection.close();
            }
        }
    }
}
