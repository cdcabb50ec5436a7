package io.github.holdfast.service;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.service.LockAdmin.HousekeepingReport;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.task.TaskRows;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Everything can be done by a database user who may only read and write the rows of the tables. */
@OnEachDatabase
class LeastPrivilegeTest {

    private static final String USER = "holdfast_app";
    private static final Path DOCUMENT = ProjectDirectory.resolve("docs/operate/operations-databases.md");
    private static final Duration SOON = ofSeconds(60);
    private static final LockRequest REQUEST = LockRequest.of("least privilege").waitAtMost(SOON);

    private Database database;
    private Services services;
    private TestRows rows;

    @BeforeEach
    void open(Database database) throws Exception {
        this.database = database;
        services = Services.on(database);
        rows = TestRows.of(database);
        database.execute(
                "delete from distributed_lock",
                "delete from lock_node",
                "delete from lock_audit",
                "delete from lock_run",
                "delete from lock_holder",
                "delete from lock_waiter");
        database.administer(
                switch (database.kind()) {
                    case H2_MEMORY, H2_FILE, H2_TCP -> "create user " + USER + " password 'secret'";
                    case POSTGRESQL -> "create role " + USER + " login password 'secret'";
                    case MARIADB, MYSQL -> "create user " + USER + " identified by 'secret'";
                });
        List<String> grants = documentedGrants();
        assertThat(grants).hasSize(6);
        database.administer(grants.toArray(String[]::new));
    }

    /** What the documentation tells an administrator to do. */
    private static List<String> documentedGrants() throws IOException {
        return Files.readAllLines(DOCUMENT).stream()
                .filter(line -> line.startsWith("grant "))
                .map(line -> line.replace("to app;", "to " + USER))
                .toList();
    }

    @AfterEach
    void close() throws Exception {
        services.close();
        if (database.kind() == TestDatabase.POSTGRESQL) {
            database.administer("drop owned by " + USER);
        }
        database.administer("drop user " + USER);
    }

    private HikariDataSource pool() {
        return database.pool(this::connect);
    }

    private void connect(HikariConfig pool) {
        // On H2 only the administrator may connect with settings in the URL.
        pool.setJdbcUrl(database.kind().isH2() ? database.url().replaceFirst(";.*", "") : database.url());
        pool.setUsername(USER);
        pool.setPassword("secret");
        pool.setMaximumPoolSize(3);
    }

    private LockService service(UnaryOperator<LockServiceBuilder> settings) {
        return services.build(services.opened(PersistenceUnit.directlyOn(pool(), Map.of())), settings);
    }

    @Test
    void theUserMayDoNothingElse() throws Exception {
        try (HikariDataSource pool = pool();
                Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            for (String sql : List.of(
                    "alter table distributed_lock add another int",
                    "drop table lock_audit",
                    "create table another (id int)")) {
                assertThatThrownBy(() -> statement.execute(sql)).as(sql).isInstanceOf(SQLException.class);
            }
        }
    }

    @Test
    void locksAreAcquiredKeptRenewedAndReleased() throws Exception {
        LockService mine = service(builder -> builder.nodeLease(ofSeconds(8)).application("least privilege"));
        LockService theirs = service(LockServiceBuilder::withoutHousekeeping);
        LockHandle lock = mine.acquire(REQUEST);
        LockHandle nested = mine.acquire(REQUEST);
        LockHandle leased =
                mine.acquire(LockRequest.of("leased").lease(ofSeconds(60)).minimumHold(ofSeconds(1)));
        LockHandle chosen = mine.acquire(LockRequest.of("chosen").owner("me"));
        leased.renew(ofSeconds(90));
        lock.renew(ofSeconds(5));
        // A beat may be late on a busy machine, and then the lock is suspect for a moment.
        await().during(ofSeconds(9))
                .atMost(SOON)
                .until(() -> lock.state() != LockState.LOST
                        && theirs.tryAcquire(LockRequest.of(REQUEST.name())).isEmpty());
        assertThat(theirs.find(REQUEST.name())).isPresent();
        assertThat(theirs.admin().held("", 10)).hasSize(3);
        assertThat(theirs.admin().nodes("", 10)).isNotEmpty();
        assertThat(nested.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        for (LockHandle handle : List.of(lock, leased, chosen)) {
            assertThat(handle.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void locksOfDeadHoldersAreTakenOver() throws Exception {
        rows.node("overdue", false, ofSeconds(1));
        rows.heldThrough("overdue", "of overdue");
        rows.heldThrough("absent", "of absent");
        rows.leased(ofSeconds(1), "expired");
        LockService mine = service(LockServiceBuilder::withoutHousekeeping);
        for (String name : rows.names()) {
            long token = rows.row(name).token();
            try (LockHandle lock = mine.acquire(LockRequest.of(name).waitAtMost(SOON))) {
                assertThat(lock.fencingToken()).isGreaterThan(token);
            }
        }
        LockService delaying = service(builder -> builder.withoutHousekeeping().lockDelay(ofSeconds(1)));
        rows.leased(ofSeconds(1), "delayed");
        assertThat(delaying.tryAcquire(LockRequest.of("delayed"))).isEmpty();
        delaying.acquire(LockRequest.of("delayed").waitAtMost(SOON)).close();
    }

    @Test
    void aLockIsReleasedByForceAndItsHolderTold() throws Exception {
        LockService mine = service(builder -> builder.nodeLease(ofSeconds(8)).withoutHousekeeping());
        LockService theirs = service(LockServiceBuilder::withoutHousekeeping);
        LockHandle lock = mine.acquire(REQUEST);
        assertThat(theirs.admin().forceRelease(REQUEST.name(), "for the test")).isPresent();
        await().atMost(SOON).until(() -> lock.state() == LockState.LOST);
        assertThatThrownBy(() -> lock.renew(ofSeconds(1)))
                .isInstanceOfSatisfying(
                        LockLostException.class,
                        lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.FORCED));
        assertThat(database.queryForLong("select count(*) from lock_audit")).isEqualTo(1);
    }

    @Test
    void theTablesAreTidiedUp() throws Exception {
        rows.node("overdue", false, ofSeconds(1));
        rows.node("idle", true, ofDays(8));
        rows.heldThrough("overdue", "freed 1", "freed 2");
        rows.free(ofDays(8), "purged 1", "purged 2", "purged 3");
        LockService mine = service(LockServiceBuilder::withoutHousekeeping);

        assertThat(mine.admin().housekeep()).isEqualTo(new HousekeepingReport(1, 2, 3, 1, 0, 0));
    }

    @Test
    void tasksRunOnceAndTheirRunsArePurged() throws Exception {
        new TaskRows(database).ended("task", ofDays(8), 2);
        LockService mine = service(LockServiceBuilder::withoutHousekeeping);
        TaskLock task = mine.task(TaskRequest.of("task").every(ofDays(1)));

        assertThat(task.runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED);
        assertThat(task.runIfDue(lock -> {})).isEqualTo(TaskOutcome.NOT_DUE);
        assertThat(mine.admin().housekeep().runsPurged()).isEqualTo(2);
        assertThat(mine.admin().lastRuns("", 10)).hasSize(1);
    }

    @Test
    void closingTheServiceFreesItsLocks() throws Exception {
        LockService mine = service(LockServiceBuilder::withoutHousekeeping);
        LockService theirs = service(LockServiceBuilder::withoutHousekeeping);
        mine.acquire(REQUEST);
        mine.acquire(LockRequest.of("leased").lease(ofSeconds(60)));
        mine.close();
        theirs.tryAcquire(LockRequest.of(REQUEST.name())).orElseThrow().close();
        theirs.tryAcquire(LockRequest.of("leased")).orElseThrow().close();
    }

    @Test
    void aPoolForLocksMayHaveAnotherUserThanTheApplication() throws Exception {
        HikariDataSource application = database.pool(config -> config.setMaximumPoolSize(2));
        LockService mine = services.build(
                application, builder -> builder.withoutHousekeeping().lockDataSource(pool()));
        mine.acquire(REQUEST).close();
        assertThat(rows.names()).containsExactly(REQUEST.name());
    }

    @Test
    void whereTheTablesExistTheUserMayAskToCreateThem() {
        LockSchema.on(pool()).createIfMissing();
    }
}
