package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.Database;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/** Two services with fenced transactions, for all tests of a contract. */
@TestInstance(Lifecycle.PER_CLASS)
abstract class TwoServicesContract {

    static final Duration SOON = ofSeconds(60);

    /** A machine that stands still for some seconds does not end it. */
    static final Duration NODE_LEASE = ofSeconds(12);

    final ExecutorService threads = Executors.newCachedThreadPool(Daemons.named("contender"));
    Database database;
    Ledger ledger;

    /** The transactions of {@link #mine}. */
    Bookkeeper books;

    LockService mine;
    LockService theirs;
    private Bookkeeper others;

    @BeforeAll
    void open(Database database) {
        this.database = database;
        Services.on(database);
        ledger = Ledger.create(database);
        books = Bookkeeper.on(database.pool(pool -> {}), TwoServicesContract::settings);
        others = Bookkeeper.on(database.pool(pool -> {}), TwoServicesContract::settings);
        mine = books.locks();
        theirs = others.locks();
    }

    private static LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder.nodeLease(NODE_LEASE).clockTolerance(Duration.ZERO);
    }

    @BeforeEach
    void clear() {
        ledger.clear();
    }

    @AfterAll
    void close() {
        threads.shutdownNow();
        books.close();
        others.close();
    }

    long holders() {
        return database.queryForLong("select count(*) from lock_holder");
    }

    /**
     * Ends the nodes that hold shares or permits, as a service does that finds their leases over. The other service of the next test still
     * has its node then.
     */
    void endNodesOfHolders() {
        database.execute("update lock_node set ended = true, expires_at = started_at"
                + " where id in (select node_id from lock_holder)");
    }

    static <T> T get(Future<T> future) throws Exception {
        return future.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    static void awaitWaiting(LockService service, int count) {
        await().pollInterval(ofMillis(5))
                .atMost(SOON)
                .until(() -> service.admin().waiters().size() == count);
    }
}
