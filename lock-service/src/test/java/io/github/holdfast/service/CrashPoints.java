package io.github.holdfast.service;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LateCommits.Fate;
import io.github.holdfast.service.engine.runtime.JumpingTicker;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.hibernate.cfg.AvailableSettings;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestInstance;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Calls of the API, each made again and again: the connection breaks at the first statement or commit, at the second one, and so
 * on, until the call gets through. After each of them {@link Crash} looks whether all is well.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class CrashPoints {

    static final Duration SOON = ofSeconds(60);

    /** So long that no test meets its end: what is free soon is so without it. */
    static final Duration LONG = ofMinutes(30);

    private static final List<Fault> FAULTS = List.of(Fault.BEFORE_SEND, Fault.AFTER_SEND, Fault.ANSWER_LOST);

    /** The public methods in which connections break during a test; that they do is checked. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.METHOD)
    @interface Breaks {
        String[] value();
    }

    final JumpingTicker ticker = new JumpingTicker();
    Database database;
    Services services;
    TestRows rows;
    FaultyDataSource faults;
    LateCommits lateCommits;
    HikariDataSource pool;
    BorrowedConnections connections;
    EntityManagerFactory unit;
    JpaTransactionManager manager;
    TransactionTemplate transaction;

    /** Whose connections break. */
    LockService mine;

    /** Another one, which sees what the first has left in the database. */
    LockService theirs;

    private Set<Thread> threadsBefore;
    private int names;

    @BeforeAll
    void open(Database injected) {
        threadsBefore = Services.threads();
        database = injected;
        services = Services.on(database);
        rows = TestRows.of(database);
        database.execute("create table crash_commit (name varchar(100) primary key)");
        faults = new FaultyDataSource(database.dataSource());
        lateCommits = new LateCommits(faults);
        pool = services.patientPoolOver(faults);
        connections = new BorrowedConnections(pool);
        unit = services.unit(
                connections, Map.of(AvailableSettings.CONNECTION_HANDLING, "DELAYED_ACQUISITION_AND_HOLD"));
        manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        transaction = new TransactionTemplate(manager);
        mine = services.build(unit, builder -> polling(builder).transactionManager(manager));
        theirs = services.build(LockServiceBuilder::withoutHousekeeping);
    }

    /** No heartbeat and no housekeeping comes by itself. */
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder.nodeLease(LONG).withoutHousekeeping().adjusted(ticker.inSettings());
    }

    /**
     * As {@link #settings}, without a connection that listens. On a slow machine, some wait lasts long enough to open one. Its
     * statements would count as steps, and it would look like a leak.
     */
    LockServiceBuilder polling(LockServiceBuilder builder) {
        return settings(builder).withoutWakeUp();
    }

    @AfterEach
    void eachCallWasBrokenThatIsSaidToBe(TestInfo test) {
        Set<String> calls = connections.takeCalls();
        Breaks said = test.getTestMethod().orElseThrow().getAnnotation(Breaks.class);
        if (said != null) {
            assertThat(calls).contains(said.value());
        }
    }

    @AfterAll
    void close() throws Exception {
        faults.disarm();
        lateCommits.close();
        services.close();
        awaitNoThreadBut(threadsBefore);
    }

    static void awaitNoThreadBut(Set<Thread> those) {
        await().atMost(SOON).until(() -> those.containsAll(Services.threads()));
    }

    /** What is done at each point, anew. */
    interface Scenario {
        void at(Crash crash) throws Exception;
    }

    /**
     * Breaks the connection at each step of what the scenario does {@linkplain Crash#during in the face of that}.
     *
     * @param atLeast how many steps there must be on each database, so that it is not empty
     */
    void atEachStep(int atLeast, Scenario scenario) {
        for (Fault fault : FAULTS) {
            atEachStep(fault, atLeast, scenario);
        }
    }

    /** As {@link #atEachStep(int, Scenario)}, and with commits that arrive late or never. */
    void atEachStepAndLateCommit(int atLeast, Scenario scenario) {
        atEachStep(atLeast, scenario);
        atEachStep(Fault.DELAYED, Fate.LANDS_SOON, atLeast, scenario);
        atEachStep(Fault.DELAYED, Fate.SINKS_SOON, atLeast, scenario);
    }

    /** As {@link #atEachStep(int, Scenario)}, with one fault. */
    void atEachStep(Fault fault, int atLeast, Scenario scenario) {
        atEachStep(fault, Fate.LANDS_SOON, atLeast, scenario);
    }

    /**
     * As {@link #atEachStep(int, Scenario)}, with one fault.
     *
     * @param fate what becomes of a commit that arrives late
     */
    void atEachStep(Fault fault, Fate fate, int atLeast, Scenario scenario) {
        int step = 1;
        while (isReached(step, fault, fate, scenario)) {
            step++;
        }
        assertThat(step - 1).as("steps, with " + fault).isGreaterThanOrEqualTo(atLeast);
    }

    private boolean isReached(int step, Fault fault, Fate fate, Scenario scenario) {
        Crash crash = new Crash(this, "crash " + ++names, step, fault, fate);
        try {
            scenario.at(crash);
            return crash.end();
        } catch (Exception | AssertionError thrown) {
            throw new AssertionError(
                    (fault == Fault.DELAYED ? fate : fault) + " at step " + step + ", " + thrown.getMessage(), thrown);
        } finally {
            faults.disarm();
        }
    }

    /** The entity manager of the current transaction. */
    EntityManager em() {
        return Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit));
    }

    /** Has the rows of the node compared with the holds, as every sixth heartbeat does. */
    void reconcile() throws Exception {
        try (LockHandle keeper = mine.acquire(LockRequest.of("keeper").waitAtMost(SOON))) {
            moveNodeOn(keeper);
            keeper.renew(ofSeconds(1));
        }
    }

    /** The next heartbeat misses. */
    void moveNodeOn(LockHandle held) {
        database.execute("update lock_node set version = version + 1 where id = '" + nodeOf(held) + "'");
    }

    String nodeOf(LockHandle held) {
        return Objects.requireNonNull(rows.row(held.name()).nodeId());
    }
}
