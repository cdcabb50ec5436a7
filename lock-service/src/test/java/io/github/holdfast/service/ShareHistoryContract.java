package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.jdbc.PausingDataSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Many threads of two services hold shares of one name, and note from when to when they believe so. At no time do they believe in more
 * than there is, at any isolation level.
 */
abstract class ShareHistoryContract {

    private static final int THREADS = 4;
    private static final Duration LENGTH = ofSeconds(4);
    private static final Duration SOON = ofSeconds(60);

    /** Renewals begin when less than this is left of the lease. */
    private static final Duration LATE = ofMillis(60);

    /** What a worker does with its share. */
    enum Use {
        RELEASE_LEASE,
        LET_LEASE_RUN_OUT,
        RENEW_LEASE_LATE,
        RELEASE_FROM_NODE,
        DIE;

        /** The lease; empty if the process keeps the share. */
        Optional<Duration> lease() {
            return switch (this) {
                case RELEASE_LEASE, DIE -> Optional.of(ofMinutes(1));
                case LET_LEASE_RUN_OUT, RENEW_LEASE_LATE -> Optional.of(atRandom(100, 300));
                case RELEASE_FROM_NODE -> Optional.empty();
            };
        }
    }

    /** Some statements are late by more than what is left of a lease. */
    private static final Duration LONGEST_PAUSE = ofMillis(150);

    private static final double PAUSED = 0.05;

    /** How much can be held at once. */
    abstract int limit();

    /** How much a worker acquires at once for this use, at random. */
    abstract int weight(Use use);

    /** The same, for what a worker does first. */
    int firstWeight(Use use) {
        return weight(use);
    }

    /** What two holders have at once before the workers begin, so that much is held at once however slow the machine is. */
    abstract List<Integer> heldTogether();

    /** Acquires. Waits for long. */
    abstract LockHandle acquire(LockService service, String name, int weight, Use use) throws InterruptedException;

    /** Exchanges what is held for less, without a release in between; empty if there is nothing to exchange. */
    Optional<LockHandle> exchanged(LockHandle held) {
        return Optional.empty();
    }

    /**
     * A grant in the history, by the local clock.
     *
     * @param calledAt when the acquisition began
     * @param from when it had returned
     * @param until when the holder last saw that it held them
     */
    record Belief(Use use, int weight, long token, long calledAt, long from, long until) {}

    /** A change of what all holders together believe to have. */
    private record Change(long at, int weight, Belief belief) {}

    /** One holder, until it stops believing. */
    private static final class Holder {

        private final LockHandle handle;
        private final long from;
        private long until;

        Holder(LockHandle handle) {
            this.handle = handle;
            this.from = System.nanoTime();
            this.until = from;
        }

        /** Looks at the clock first: who holds the permits later has held them then. */
        boolean isHolding() {
            long now = System.nanoTime();
            boolean isHeld = handle.state() == LockState.HELD;
            until = isHeld ? now : until;
            return isHeld;
        }

        void holdUntil(BooleanSupplier isOver) {
            await().pollInSameThread()
                    .pollDelay(Duration.ZERO)
                    .pollInterval(ofMillis(1))
                    .atMost(SOON)
                    .until(() -> !isHolding() || isOver.getAsBoolean());
        }

        void holdFor(Duration time) {
            holdUntil(() -> System.nanoTime() - from >= time.toNanos());
        }

        Belief belief(Use use, int weight, long calledAt) {
            return new Belief(use, weight, handle.fencingToken(), calledAt, from, until);
        }

        void release() {
            isHolding();
            // On a busy machine, a release may be repeated in the background.
            assertThat(handle.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.LOST, ReleaseOutcome.UNRESOLVED);
        }
    }

    private static Duration atRandom(int fromMillis, int toMillis) {
        return ofMillis(ThreadLocalRandom.current().nextInt(fromMillis, toMillis));
    }

    @ParameterizedTest
    @EnumSource(names = {"READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE"})
    void atNoTimeIsMoreHeldThanThereIs(Isolation isolation, Database database) throws Exception {
        String name = "history " + isolation;
        List<Belief> history = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(2 * THREADS);
        try (Services services = Services.on(database)) {
            List<PausingDataSource> pools =
                    List.of(pausing(services, database, isolation), pausing(services, database, isolation));
            List<LockService> both = pools.stream()
                    .map(pool -> services.build(
                            pool, builder -> builder.withoutHousekeeping().clockTolerance(Duration.ZERO)))
                    .toList();
            history.addAll(holdTogether(both, name));
            long end = System.nanoTime() + LENGTH.toNanos();
            List<Callable<List<Belief>>> workers = new ArrayList<>();
            for (LockService service : both) {
                for (int thread = 0; thread < THREADS; thread++) {
                    workers.add(new Worker(
                            database, service, name, end, Use.values()[workers.size() % Use.values().length]));
                }
            }
            for (Future<List<Belief>> worker : threads.invokeAll(workers)) {
                history.addAll(worker.get());
            }
            acquire(both.get(0), name, limit(), Use.RELEASE_LEASE).close();
            System.out.printf(
                    "%s, %s: %d grants, none for %d ms, %d pauses%n",
                    database.kind().label(),
                    isolation,
                    history.size(),
                    longestGap(history),
                    pools.stream().mapToLong(PausingDataSource::pauses).sum());
            assertThat(pools).anyMatch(pool -> pool.pauses() > 0);
        } finally {
            threads.shutdownNow();
        }
        assertThat(history).hasSizeGreaterThanOrEqualTo(2 * THREADS);
        assertThat(history).extracting(Belief::use).contains(Use.values());
        assertThat(greatestSum(history)).isEqualTo(limit());
        checkVariety(history);
        assertTokensGrow(history);
    }

    /** Each service holds its part until both have it. */
    private List<Belief> holdTogether(List<LockService> services, String name) throws InterruptedException {
        List<Belief> beliefs = new ArrayList<>();
        List<Holder> holders = new ArrayList<>();
        List<Long> calls = new ArrayList<>();
        for (int i = 0; i < services.size(); i++) {
            calls.add(System.nanoTime());
            holders.add(new Holder(acquire(services.get(i), name, heldTogether().get(i), Use.RELEASE_LEASE)));
        }
        holders.forEach(Holder::release);
        for (int i = 0; i < holders.size(); i++) {
            beliefs.add(holders.get(i).belief(Use.RELEASE_LEASE, heldTogether().get(i), calls.get(i)));
        }
        return beliefs;
    }

    /** Whether the grant may be an older one that this holder has joined. */
    boolean mayHaveJoined(Belief belief) {
        return false;
    }

    /** Checks that different things have happened. */
    void checkVariety(List<Belief> history) {}

    private static PausingDataSource pausing(Services services, Database database, Isolation isolation) {
        return new PausingDataSource(services.opened(database.pool(isolation::set)), PAUSED, LONGEST_PAUSE);
    }

    private static long longestGap(List<Belief> history) {
        long[] from = history.stream().mapToLong(Belief::from).sorted().toArray();
        long longest = IntStream.range(1, from.length)
                .mapToLong(i -> from[i] - from[i - 1])
                .max()
                .orElse(0);
        return TimeUnit.NANOSECONDS.toMillis(longest);
    }

    /** Returns the most that was believed to be held at one time; fails if that is above the limit. */
    private int greatestSum(List<Belief> history) {
        List<Change> changes = history.stream()
                .flatMap(belief -> Stream.of(
                        new Change(belief.from(), belief.weight(), belief),
                        new Change(belief.until(), -belief.weight(), belief)))
                .sorted(Comparator.comparingLong(Change::at).thenComparingInt(Change::weight))
                .toList();
        List<Belief> now = new ArrayList<>();
        int greatest = 0;
        for (Change change : changes) {
            if (change.weight() < 0) {
                now.remove(change.belief());
            } else if (change.belief().until() > change.belief().from()) {
                now.add(change.belief());
            }
            int sum = now.stream().mapToInt(Belief::weight).sum();
            assertThat(sum).as("held at once: %s", now).isLessThanOrEqualTo(limit());
            greatest = Math.max(greatest, sum);
        }
        return greatest;
    }

    /**
     * A grant has a greater token than every one that was known before its acquisition began. One that was joined has a greater token
     * than every exclusive one.
     */
    private void assertTokensGrow(List<Belief> history) {
        assertThat(history)
                .filteredOn(belief -> !mayHaveJoined(belief))
                .extracting(Belief::token)
                .doesNotHaveDuplicates();
        for (Belief later : history) {
            assertThat(history)
                    .filteredOn(earlier -> earlier.from() < later.calledAt())
                    .filteredOn(earlier -> !mayHaveJoined(later) || earlier.weight() == limit())
                    .as("earlier than %s", later)
                    .allMatch(earlier -> earlier.token() < later.token());
        }
    }

    /** A thread that acquires again and again. */
    private final class Worker implements Callable<List<Belief>> {

        /** Few die, because those who wait may need a second to find that out. */
        private static final List<Use> USES = List.of(
                Use.RELEASE_LEASE,
                Use.RELEASE_LEASE,
                Use.RELEASE_LEASE,
                Use.RELEASE_LEASE,
                Use.RELEASE_FROM_NODE,
                Use.RELEASE_FROM_NODE,
                Use.RELEASE_FROM_NODE,
                Use.RELEASE_FROM_NODE,
                Use.LET_LEASE_RUN_OUT,
                Use.LET_LEASE_RUN_OUT,
                Use.RENEW_LEASE_LATE,
                Use.RENEW_LEASE_LATE,
                Use.DIE);

        private final Database database;
        private final LockService service;
        private final String name;
        private final long end;
        private final Use first;
        private final List<Belief> history = new ArrayList<>();

        /** Keeps the handles of the dead: the process would otherwise release what nobody can release any more. */
        private final List<LockHandle> dead = new ArrayList<>();

        Worker(Database database, LockService service, String name, long end, Use first) {
            this.database = database;
            this.service = service;
            this.name = name;
            this.end = end;
            this.first = first;
        }

        @Override
        public List<Belief> call() throws Exception {
            while (history.isEmpty()) {
                hold(first, firstWeight(first));
            }
            while (System.nanoTime() < end) {
                Use use = USES.get(ThreadLocalRandom.current().nextInt(USES.size()));
                hold(use, weight(use));
            }
            return history;
        }

        private void hold(Use use, int weight) throws Exception {
            long calledAt = System.nanoTime();
            Holder holder;
            try {
                holder = new Holder(acquire(service, name, weight, use));
            } catch (LockLostException slow) {
                // The lease was over before the database had answered.
                return;
            }
            use(use, weight, holder, calledAt);
        }

        private void note(Use use, int weight, Holder holder, long calledAt) {
            history.add(holder.belief(use, weight, calledAt));
        }

        private void use(Use use, int weight, Holder holder, long calledAt) throws Exception {
            if (use == Use.RELEASE_LEASE || use == Use.RELEASE_FROM_NODE) {
                holder.holdFor(atRandom(0, 30));
                long exchangedAt = System.nanoTime();
                Optional<LockHandle> rest = exchanged(holder.handle);
                if (rest.isPresent()) {
                    note(use, weight, holder, calledAt);
                    use(use, 1, new Holder(rest.get()), exchangedAt);
                    return;
                }
            }
            use(use, holder);
            note(use, weight, holder, calledAt);
        }

        private void use(Use use, Holder holder) {
            switch (use) {
                case RELEASE_LEASE, RELEASE_FROM_NODE -> holder.release();
                case LET_LEASE_RUN_OUT -> holder.holdUntil(() -> false);
                case RENEW_LEASE_LATE -> {
                    holder.holdUntil(() -> holder.handle.remaining().compareTo(LATE) < 0);
                    renew(holder);
                    holder.release();
                }
                case DIE -> {
                    holder.holdFor(atRandom(0, 30));
                    die(holder);
                }
            }
        }

        private void renew(Holder holder) {
            try {
                holder.handle.renew(ofMillis(100));
                holder.holdFor(ofMillis(400));
            } catch (LockLostException late) {
                assertThat(holder.isHolding()).isFalse();
            } catch (LockStoreException busy) {
                FairTest.assertBusy(busy);
            }
        }

        /** Leaves the row as if it were held through a node whose process is dead. */
        private void die(Holder holder) {
            LockHandle handle = holder.handle;
            dead.add(handle);
            String node = "dead " + handle.owner();
            TestRows.of(database).node(node, false, ofMinutes(1));
            await("death").ignoreExceptions().atMost(SOON).until(() -> {
                database.execute("update lock_holder set expires_at = null, node_id = '" + node + "' where name = '"
                        + handle.name() + "' and fencing_token = " + handle.fencingToken());
                return true;
            });
        }
    }
}
