package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** What becomes of transactions under locks of a service that is closed meanwhile. */
@OnEachDatabase
class CloseInTransactionTest {

    private Services services;
    private JpaTransactionManager manager;
    private EntityManagerFactory unit;
    private LockService theirs;

    @BeforeEach
    void open(Database database) {
        services = Services.on(database);
        unit = services.unit(services.opened(database.pool(pool -> {})));
        manager = new JpaTransactionManager(unit);
        theirs = services.open();
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private LockService mine(long lockDelay) {
        return services.build(
                unit, builder -> builder.transactionManager(manager).lockDelay(Duration.ofMillis(lockDelay)));
    }

    private static LockRequest request(boolean isLease) {
        LockRequest request = LockRequest.of("closed");
        return isLease ? request.lease(ofSeconds(60)) : request;
    }

    private void takeOver() {
        try (LockHandle next = theirs.acquireUninterruptibly(LockRequest.of("closed"))) {
            assertThat(next.state()).isEqualTo(LockState.HELD);
        }
    }

    @ParameterizedTest
    @CsvSource({"true, 0", "true, 1", "false, 0", "false, 1"})
    void aTransactionUnderALockThatAnotherOneHasHadSinceDoesNotCommit(boolean isLease, long lockDelay)
            throws Exception {
        LockService mine = mine(lockDelay);
        LockHandle lock = mine.acquire(request(isLease));
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> new TransactionTemplate(manager).executeWithoutResult(transaction -> {
                    CompletableFuture.runAsync(mine::close).join();
                    takeOver();
                }));
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @ParameterizedTest
    @CsvSource({"true, 0", "true, 1", "false, 0", "false, 1"})
    void aTransactionThatBeginsUnderALockOfAClosedServiceDoesNotCommitEither(boolean isLease, long lockDelay)
            throws Exception {
        LockService mine = mine(lockDelay);
        LockHandle lock = mine.acquire(request(isLease));
        mine.close();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> new TransactionTemplate(manager).executeWithoutResult(transaction -> takeOver()));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        new TransactionTemplate(manager).executeWithoutResult(transaction -> takeOver());
    }

    @Test
    void aServiceThatHoldsNothingNoLongerListensWhenItIsClosed() throws Exception {
        LockService mine = mine(0);
        assertThat(manager.getTransactionExecutionListeners()).hasSize(1);
        mine.acquire(request(false)).close();
        mine.close();
        assertThat(manager.getTransactionExecutionListeners()).isEmpty();
    }

    @Test
    void nestedHoldsOfAClosedServiceAreLostOneByOne() throws Exception {
        LockService mine = mine(0);
        LockHandle outer = mine.acquire(request(true));
        LockHandle inner = mine.acquire(request(true));
        mine.close();
        assertThat(inner.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(outer.release()).isEqualTo(ReleaseOutcome.LOST);
    }
}
