package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.spi.ILoggingEvent;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.dao.ConcurrencyFailureException;

/**
 * A transaction reads, somebody else changes under the lock what it has read, and only then it acquires the lock, reads
 * again and writes. That is too late, except at READ COMMITTED; what comes of it depends on the database.
 */
abstract class OldSnapshotContract {

    private static final Duration SOON = ofSeconds(60);

    /** What the transaction writes. */
    private enum Write {
        /** What it has read. */
        OF_WHAT_WAS_READ {
            @Override
            void write(EntityManager em, long token) {
                Ledger.post(em, token, () -> {});
            }
        },
        /** Something else, which follows from what it has read: no write of the other one is in its way. */
        OF_WHAT_FOLLOWS {
            @Override
            void write(EntityManager em, long token) {
                Ledger.noteOnly(em, token);
            }
        };

        abstract void write(EntityManager em, long token);
    }

    private enum Outcome {
        /** It commits, and has seen what the other one wrote. */
        IN_ORDER,

        /** It commits, and has not seen it: of that the log warns. */
        OUT_OF_ORDER,

        /** It fails, and is told that it has acquired the lock too late. */
        TOO_LATE,

        /** It fails, because the database notices that the row has changed. */
        CONFLICT,

        /** The other one cannot write before it ends. */
        OTHER_WAITS
    }

    private static Outcome expected(TestDatabase kind, Isolation isolation, Write write) {
        return switch (isolation) {
            case OF_THE_SERVER, READ_COMMITTED -> Outcome.IN_ORDER;
            case REPEATABLE_READ ->
                switch (kind) {
                    case POSTGRESQL -> noticed(write, Outcome.TOO_LATE);
                    default -> Outcome.TOO_LATE;
                };
            case REPEATABLE_READ_CHECKED -> Outcome.TOO_LATE;
            case SERIALIZABLE, SERIALIZABLE_CHECKED ->
                switch (kind) {
                    case MARIADB, MYSQL -> Outcome.OTHER_WAITS;
                    default -> noticed(write, Outcome.TOO_LATE);
                };
        };
    }

    private static Outcome noticed(Write write, Outcome otherwise) {
        return write == Write.OF_WHAT_WAS_READ ? Outcome.CONFLICT : otherwise;
    }

    Ledger ledger;

    @BeforeEach
    void open(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        ledger = Ledger.create(database);
    }

    @Test
    void whoeverAcquiresAfterTheFirstReadFailsOrIsWarned(Database database) throws Exception {
        List<Isolation> isolations = new ArrayList<>(Isolation.ofSnapshots(database.kind()));
        isolations.add(Isolation.READ_COMMITTED);
        for (Isolation isolation : isolations) {
            try (CapturedLog log = CapturedLog.of("io.github.holdfast.service.engine.tx.TransactionWarnings");
                    Bookkeeper mine = Bookkeeper.on(database.pool(isolation::set), builder -> builder);
                    Bookkeeper theirs = Bookkeeper.on(database.pool(isolation::set), builder -> builder)) {
                Set<Outcome> outcomes = EnumSet.noneOf(Outcome.class);
                // The first twice, because the first time the lock has no row when the transaction reads.
                for (Write write : List.of(Write.OF_WHAT_FOLLOWS, Write.OF_WHAT_FOLLOWS, Write.OF_WHAT_WAS_READ)) {
                    Outcome expected = expected(database.kind(), isolation, write);
                    LockRequest request = LockRequest.of(isolation.name())
                            .waitAtMost(expected == Outcome.OTHER_WAITS ? ofMillis(300) : SOON);
                    Outcome outcome = outcome(mine, request, write, theirs);
                    assertThat(outcome).as(isolation + ", " + write).isEqualTo(expected);
                    outcomes.add(outcome);
                }
                outcomes.removeAll(Set.of(Outcome.IN_ORDER, Outcome.OTHER_WAITS));
                assertThat(log.lines()).as("warnings at " + isolation).hasSize(outcomes.isEmpty() ? 0 : 1);
                // Whoever reads it can find the place.
                assertThat(log.lines())
                        .extracting(ILoggingEvent::getFormattedMessage)
                        .allSatisfy(line -> assertThat(line).contains("(" + Bookkeeper.class.getName() + "."));
            }
        }
    }

    private Outcome outcome(Bookkeeper mine, LockRequest request, Write write, Bookkeeper theirs) throws Exception {
        ledger.clear();
        CountDownLatch hasRead = new CountDownLatch(1);
        CountDownLatch isHeld = new CountDownLatch(1);
        CompletableFuture<Void> other = CompletableFuture.runAsync(() -> {
            await(hasRead);
            theirs.underLock(request.waitAtMost(SOON), lock -> {
                isHeld.countDown();
                theirs.inTransaction(em -> Ledger.post(em, lock.fencingToken(), () -> {}));
            });
        });
        Optional<Outcome> failure = failure(() -> mine.inTransaction(em -> {
            Ledger.read(em);
            hasRead.countDown();
            await(isHeld);
            mine.underLock(request, lock -> {
                em.clear();
                write.write(em, lock.fencingToken());
            });
        }));
        other.get(SOON.toSeconds(), TimeUnit.SECONDS);
        awaitFree(mine, request.name());
        List<Long> written = ledger.entries().stream().map(Ledger.Entry::amount).toList();
        if (failure.isPresent()) {
            assertThat(written).as("what was written besides").containsExactly(1L);
            return failure.get();
        }
        return written.equals(List.of(1L, 2L)) ? Outcome.IN_ORDER : Outcome.OUT_OF_ORDER;
    }

    /** Also what was refused after it had been granted. */
    private static void awaitFree(Bookkeeper any, String name) {
        Awaitility.await().until(() -> any.locks().find(name).isEmpty());
    }

    private static Optional<Outcome> failure(Runnable transaction) {
        try {
            transaction.run();
            return Optional.empty();
        } catch (LockNotAcquiredException waited) {
            return Optional.of(Outcome.OTHER_WAITS);
        } catch (LockStoreException refused) {
            assertThat(refused).hasMessageContaining("after the transaction's first read");
            return Optional.of(Outcome.TOO_LATE);
        } catch (PersistenceException | ConcurrencyFailureException conflict) {
            return Optional.of(Outcome.CONFLICT);
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException thrown) {
            throw new IllegalStateException(thrown);
        }
    }
}
