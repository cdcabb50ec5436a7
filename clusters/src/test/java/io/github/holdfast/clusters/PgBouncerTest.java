package io.github.holdfast.clusters;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.holdfast.clusters.PgBouncer.Mode;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockHandle;
import io.github.holdfast.service.LockRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.service.LockState;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Locks through PgBouncer. */
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
    @CsvSource({
        "TRANSACTION, true, 8",
        "TRANSACTION, false, 8",
        "TRANSACTION_ON_ONE_SESSION, true, 8",
        "TRANSACTION, true, 1"
    })
    void statementsThatWouldBeLostAreRefused(Mode mode, boolean autoCommit, int connections) {
        assertThatIllegalStateException()
                .isThrownBy(() -> Shop.on(
                                pooler.url(mode),
                                pool -> {
                                    pool.setAutoCommit(autoCommit);
                                    pool.setMaximumPoolSize(connections);
                                    pool.setMinimumIdle(1);
                                },
                                builder -> builder)
                        .close())
                .withMessageContainingAll("pooler", "prepareThreshold=0");
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
        assertThat(clerks.commits()).isGreaterThan(10);
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
