package io.github.holdfast.repository.rows;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.entity.LockHolder.State;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows.Claim;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.store.IsolationContract;
import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.repository.store.TestThreads;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The rows of the holders on a database, whose transactions run at the same time. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class HolderRowsTest extends HolderRowsContract {

    private final Database database;
    private final TestApplication onDatabase;

    HolderRowsTest(Database database) {
        this.database = database;
        onDatabase = TestApplication.on(database, this::configure);
        application = onDatabase;
    }

    /** For leaves that connect in another way. */
    void configure(HikariConfig pool) {}

    /** At these isolation levels, a read locks nothing on any database. */
    @ParameterizedTest
    @EnumSource(names = {"TRANSACTION_READ_COMMITTED", "TRANSACTION_REPEATABLE_READ"})
    void aGrantThatHasNotCommittedDelaysNeitherItsNodeNorOtherSemaphores(IsolationContract.Level level)
            throws Exception {
        List<String> names = List.of("a", "b", "c");
        names.forEach(name -> create(name, 2));
        application.register("node");
        try (TestApplication stalled =
                TestApplication.on(database, pool -> pool.setTransactionIsolation(level.name()))) {
            Claim claim = new Claim("b", "first", "node", 1, null, null);
            long version = usage("b").orElseThrow().version();
            Optional<Grant> first = call(stalled, permits -> {
                Optional<Grant> granted = permits.grant(claim, version);
                CompletableFuture.runAsync(() -> {
                            assertThat(grant(stalled, "a")).isPresent();
                            assertThat(grant(stalled, "c")).isPresent();
                            assertThat(marksWaiting(stalled)).isTrue();
                        })
                        .orTimeout(AT_MOST.toSeconds(), TimeUnit.SECONDS)
                        .join();
                return granted;
            });
            assertThat(first).isPresent();
        }
        assertThat(names)
                .allSatisfy(name -> assertThat(usage(name).orElseThrow().used()).isEqualTo(1));
    }

    private Optional<Grant> grant(TestApplication through, String name) {
        long version = usage(name).orElseThrow().version();
        Claim claim = new Claim(name, "somebody", "node", 1, null, null);
        return through.store()
                .inTransaction(
                        Duration.ofSeconds(5), () -> through.store().permits().grant(claim, version));
    }

    private static boolean marksWaiting(TestApplication through) {
        Duration time = Duration.ofSeconds(5);
        return through.store().inTransaction(time, () -> through.store().nodes().markWaiting("node", time, null));
    }

    @ParameterizedTest
    @EnumSource(IsolationContract.Level.class)
    void theLimitHoldsWhileManyAcquireReleaseRenewAndDie(IsolationContract.Level level) throws Exception {
        create(3);
        AtomicInteger used = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        AtomicInteger conflicts = new AtomicInteger();
        AtomicInteger grants = new AtomicInteger();
        AtomicInteger owners = new AtomicInteger();
        try (TestApplication contended =
                        TestApplication.on(database, pool -> pool.setTransactionIsolation(level.name()));
                TestThreads threads = new TestThreads()) {
            threads.together(8, () -> {
                for (int attempt = 0; attempt < 25; attempt++) {
                    String owner = "owner " + owners.incrementAndGet();
                    int permits = 1 + ThreadLocalRandom.current().nextInt(2);
                    long version = untilDecided(
                            conflicts,
                            contended,
                            rows -> rows.usage(NAME).orElseThrow().version());
                    Optional<Grant> granted =
                            untilDecided(conflicts, contended, rows -> rows.grant(claim(owner, permits), version));
                    if (granted.isPresent()) {
                        grants.incrementAndGet();
                        most.accumulateAndGet(used.addAndGet(permits), Math::max);
                        boolean renewed = untilDecided(conflicts, contended, rows -> rows.extend(granted.get(), LEASE));
                        assertThat(renewed).isTrue();
                        used.addAndGet(-permits);
                        if (attempt % 5 == 0) {
                            database.execute(
                                    "update lock_holder set expires_at = acquired_at where owner = '" + owner + "'");
                        } else {
                            boolean released = untilDecided(conflicts, contended, rows -> rows.release(granted.get()));
                            assertThat(released).isTrue();
                        }
                    } else {
                        removeTheDead(conflicts, contended);
                    }
                }
                return null;
            });
        }
        System.out.printf("%s, %s: %d grants, %d conflicts%n", database, level, grants.get(), conflicts.get());
        assertThat(most.get()).isBetween(2, 3);
        assertThat(grants.get()).isPositive();
        removeTheDead(conflicts, onDatabase);
        assertThat(usage().used()).isZero();
    }

    private static void removeTheDead(AtomicInteger conflicts, TestApplication application) {
        for (HolderSnapshot holder : untilDecided(conflicts, application, rows -> rows.holders(NAME))) {
            if (holder.state(Duration.ZERO) == State.DEAD) {
                boolean unused =
                        untilDecided(conflicts, application, rows -> rows.removeDead(holder.holder(), Duration.ZERO));
            }
        }
    }

    private static <T> T untilDecided(
            AtomicInteger conflicts, TestApplication application, Function<HolderRows, T> work) {
        while (true) {
            try {
                return call(application, work);
            } catch (StoreException failed) {
                if (!failed.failure().isUndecided()) {
                    throw failed;
                }
                conflicts.incrementAndGet();
            }
        }
    }
}
