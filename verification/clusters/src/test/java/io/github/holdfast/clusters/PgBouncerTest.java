package io.github.holdfast.clusters;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.clusters.PgBouncer.Mode;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** Locks through PgBouncer. */
@Tag("cluster")
@OnDatabase(TestDatabase.POSTGRESQL)
@TestInstance(Lifecycle.PER_CLASS)
class PgBouncerTest {

    private static final String UNPREPARED = "&prepareThreshold=0";

    private Database database;
    private PgBouncer pooler;

    @BeforeAll
    void start(Database injected) {
        database = injected;
        pooler = PgBouncer.before(database);
        LockSchema.on(database.dataSource()).createIfMissing();
        database.execute(Shop.createJournal());
    }

    @AfterAll
    void stop() {
        if (pooler != null) {
            pooler.close();
        }
    }

    @BeforeEach
    void emptyJournal() {
        database.execute("delete from journal");
    }

    @ParameterizedTest
    @CsvSource({"TRANSACTION, true", "TRANSACTION, false", "TRANSACTION_ON_ONE_SESSION, true"})
    void statementsThatWouldBeLostAreRefused(Mode mode, boolean autoCommit) {
        assertThatIllegalStateException()
                .isThrownBy(() -> Shop.on(
                                pooler.url(mode),
                                pool -> {
                                    pool.setAutoCommit(autoCommit);
                                    pool.setMinimumIdle(1);
                                },
                                builder -> builder)
                        .close())
                .withMessageContainingAll("pooler", "prepareThreshold=0");
    }

    /** Nobody has prepared anything before: it is the same connection's successor that finds it. */
    @ParameterizedTest
    @EnumSource(names = "SESSION", mode = EnumSource.Mode.EXCLUDE)
    @Timeout(300)
    void aPoolOfOneTriesItOnOneConnectionAfterTheOther(Mode mode) {
        try (PgBouncer unused = PgBouncer.before(database)) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> Shop.on(
                                    unused.url(mode),
                                    pool -> {
                                        pool.setMaximumPoolSize(1);
                                        pool.setConnectionTimeout(ofMinutes(10).toMillis());
                                    },
                                    builder -> builder)
                            .close())
                    .withMessageContainingAll("pooler", "prepareThreshold=0");
        }
    }

    /** The sessions that the trial had go to others at once, who do not know what was tried. */
    @ParameterizedTest
    @ValueSource(ints = {1, 8})
    @Timeout(300)
    void statementsThatWouldBeLostAreRefusedWhileOthersKeepThePoolerBusy(int connections) throws Exception {
        ExecutorService others = Executors.newFixedThreadPool(6);
        AtomicBoolean isTried = new AtomicBoolean();
        CountDownLatch busy = new CountDownLatch(6);
        try (PgBouncer unused = PgBouncer.before(database)) {
            String url = unused.url(Mode.TRANSACTION);
            Callable<Long> work = () -> {
                try (Connection connection = DriverManager.getConnection(url + UNPREPARED);
                        Statement statement = connection.createStatement()) {
                    long executions = 0;
                    for (; !isTried.get(); executions++) {
                        statement.execute("select count(*) from journal");
                        busy.countDown();
                    }
                    return executions;
                }
            };
            List<Future<Long>> ends =
                    Stream.generate(() -> others.submit(work)).limit(6).toList();
            busy.await();
            assertThatIllegalStateException()
                    .isThrownBy(() -> Shop.on(url, pool -> pool.setMaximumPoolSize(connections), builder -> builder)
                            .close())
                    .withMessageContainingAll("pooler", "prepareThreshold=0");
            isTried.set(true);
            for (Future<Long> end : ends) {
                assertThat(end.get()).isPositive();
            }
        } finally {
            isTried.set(true);
            others.shutdown();
        }
    }

    /** Commits under locks are checked on connections of the application. */
    @Test
    void statementsOfTheApplicationThatWouldBeLostAreRefusedToo() {
        assertThatIllegalStateException()
                .isThrownBy(() -> Shop.on(
                                pooler.url(Mode.TRANSACTION), builder -> builder.lockDataSource(database.dataSource()))
                        .close())
                .withMessageContainingAll("pooler", "prepareThreshold=0");
    }

    @ParameterizedTest
    @EnumSource(Mode.class)
    void guardedCommitsAreThereWhereNothingIsPreparedOnTheServer(Mode mode) throws Exception {
        assertNothingIsLost(mode, UNPREPARED);
    }

    @Test
    void guardedCommitsAreThereInSessionMode() throws Exception {
        assertNothingIsLost(Mode.SESSION, "");
    }

    /** Nobody waits for a second connection: a pool of one does not have it. */
    @ParameterizedTest
    @CsvSource({
        "SESSION, '', true",
        "SESSION, '', false",
        "SESSION, " + UNPREPARED + ", true",
        "TRANSACTION, " + UNPREPARED + ", true"
    })
    @Timeout(300)
    void onePooledConnectionIsEnoughWhereNothingIsLost(Mode mode, String options, boolean autoCommit) throws Exception {
        try (Shop shop = Shop.on(
                pooler.url(mode) + options,
                pool -> {
                    pool.setAutoCommit(autoCommit);
                    pool.setMaximumPoolSize(1);
                    pool.setConnectionTimeout(ofMinutes(10).toMillis());
                },
                builder -> builder)) {
            assertThatItSells(shop);
        }
    }

    /** None can be taken out of it for a trial, as out of one of HikariCP. */
    @Test
    void aPoolOfOneOfAnotherKindStartsAndTheLogSaysWhatIsNotKnown() throws Exception {
        List<String> warnings = Warnings.during(this::sellThroughAPoolOfOneOfAnotherKind);

        assertThat(warnings)
                .filteredOn(warning -> !warning.contains("unflushed-commits"))
                .singleElement()
                .asString()
                .contains("Without a second connection", "prepareThreshold=0");
    }

    private void sellThroughAPoolOfOneOfAnotherKind() throws InterruptedException {
        try (HikariDataSource one = new HikariDataSource()) {
            one.setJdbcUrl(pooler.url(Mode.SESSION));
            one.setMaximumPoolSize(1);
            one.setConnectionTimeout(500);
            try (Shop shop = Shop.on(
                    database.url(),
                    pool -> {
                        pool.setUsername(database.user());
                        pool.setPassword(database.password());
                    },
                    builder -> builder.lockDataSource(new OfAnotherKind(one)))) {
                assertThatItSells(shop);
            }
        }
    }

    private void assertThatItSells(Shop shop) throws InterruptedException {
        try (LockHandle lock = shop.locks().acquire(LockRequest.of("journal").requireFence())) {
            shop.transaction(() -> shop.add(lock, 1));
        }
        assertThat(database.queryForLong("select count(*) from journal")).isEqualTo(1);
    }

    /** A pool that nobody takes for one of HikariCP. */
    private static final class OfAnotherKind extends DelegatingDataSource {

        OfAnotherKind(DataSource pool) {
            super(pool);
        }

        @Override
        public boolean isWrapperFor(Class<?> type) {
            return false;
        }
    }

    private void assertNothingIsLost(Mode mode, String options) throws Exception {
        Clerks clerks = new Clerks(
                LockRequest.of("journal")
                        .lease(ofMillis(100))
                        .waitAtMost(ofSeconds(5))
                        .requireFence(),
                ofMillis(20));
        UnaryOperator<LockServiceBuilder> plain = builder -> builder;
        try (Shop first = Shop.on(pooler.url(mode) + options, plain);
                Shop second = Shop.on(pooler.url(mode) + options, plain)) {
            clerks.work(ofSeconds(4), first, second);
        }
        System.out.println("PgBouncer, " + mode + options + ": " + clerks.commits() + " commits, " + clerks.refused()
                + " refused");
        assertThat(clerks.commits()).isPositive();
        assertThat(database.queryForLong("select count(*) from journal")).isEqualTo(clerks.commits());
        assertThat(database.queryForLong("select count(*) - count(distinct seq) from journal"))
                .as("numbers given twice")
                .isZero();
        assertThat(database.queryForLong(
                        "select count(*) from journal a join journal b on b.seq = a.seq + 1 and b.token < a.token"))
                .as("commits out of the order of their tokens")
                .isZero();
    }

    @Test
    void aRowLockKeepsItsSessionUntilItsTransactionEnds() throws Exception {
        LockRequest request = LockRequest.of("row").rowLock();
        try (Shop first = Shop.on(pooler.url(Mode.TRANSACTION) + UNPREPARED, builder -> builder);
                Shop second = Shop.on(pooler.url(Mode.TRANSACTION) + UNPREPARED, builder -> builder)) {
            LockService theirs = second.locks();
            try (LockHandle lock = first.locks().acquire(request)) {
                assertThat(theirs.tryAcquire(request)).isEmpty();
                assertThat(lock.state()).isEqualTo(LockState.HELD);
            }
            theirs.tryAcquire(request).orElseThrow().close();
        }
    }
}
