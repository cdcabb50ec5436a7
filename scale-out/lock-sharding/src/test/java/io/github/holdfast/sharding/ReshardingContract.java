package io.github.holdfast.sharding;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.sharding.History.Hold;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A second shard is added in three roll-outs, while two nodes work under the locks. */
abstract class ReshardingContract extends TwoShards {

    private static final Sharding OLD = Sharding.byHash(List.of("a"));
    private static final Sharding NEXT = Sharding.byHash(List.of("a", "b"));
    private static final List<String> NAMES =
            IntStream.range(0, 4).mapToObj(number -> "order:" + number).toList();
    private static final int THREADS = 3;

    /** At least this much later, the tokens change. The load with both rules must be over then. */
    private static final Duration UNTIL_NEXT_TOKENS = Duration.ofSeconds(20);

    /** That load takes about four times as long as the one before it. */
    private static final int PATIENCE = 10;

    /** Long enough that two holders would meet. */
    private static final Duration HOLD = Duration.ofMillis(2);

    /** How many holds of a release make sure that it has met the other. */
    private static final int ENOUGH = 40;

    private final History history = new History();

    /** A node in one release. It ends as a process does in a roll-out: its threads finish what they do. */
    private final class Release implements AutoCloseable {

        private final String name;
        private final AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);
        private final List<Future<?>> workers = new ArrayList<>();

        Release(String name, ShardedLocks locks) {
            this.name = name;
            for (int thread = 0; thread < THREADS; thread++) {
                workers.add(start(() -> {
                    while (left.get() > 0) {
                        work(locks);
                    }
                    return null;
                }));
            }
        }

        private void work(ShardedLocks locks) throws InterruptedException {
            String lock = NAMES.get(ThreadLocalRandom.current().nextInt(NAMES.size()));
            try (LockHandle handle = locks.acquire(LockRequest.of(lock).waitAtMost(SOON))) {
                long from = System.nanoTime();
                LockSupport.parkNanos(HOLD.toNanos());
                history.add(new Hold(lock, name, handle.fencingToken(), from, System.nanoTime()));
            }
        }

        /** Waits until this release has done more. */
        void workOn() {
            long enough = history.count(name) + ENOUGH;
            await().atMost(SOON.multipliedBy(2)).until(() -> history.count(name) >= enough || isAnyOver());
            assertThat(isAnyOver()).isFalse();
        }

        private boolean isAnyOver() {
            return workers.stream().anyMatch(Future::isDone);
        }

        @Override
        public void close() throws Exception {
            left.set(0);
            for (Future<?> worker : workers) {
                worker.get(60, SECONDS);
            }
        }
    }

    @Test
    void noNameHasTwoHoldersInAnyRollOut() throws Exception {
        assertThat(NAMES).extracting(NEXT::shardOf).contains("a", "b");
        ShardedLocks old = ShardedLocks.of(mine(), OLD);
        ShardedLocks othersOld = ShardedLocks.of(others(), OLD);

        Release first = new Release("old 1", old);
        Release second = new Release("old 2", othersOld);
        long start = System.nanoTime();
        second.workOn();
        Duration oldLoad = Duration.ofNanos(System.nanoTime() - start);

        Duration untilNextTokens = UNTIL_NEXT_TOKENS.plus(oldLoad.multipliedBy(PATIENCE));
        Instant nextTokensFrom = Instant.now().plus(untilNextTokens);
        first = rolledOut(first, new Release("both 1", old.movingTo(NEXT, nextTokensFrom)), second);
        second = rolledOut(second, new Release("both 2", othersOld.movingTo(NEXT, nextTokensFrom)), first);
        assertThat(Instant.now()).as("the machine is fast enough for the test").isBefore(nextTokensFrom);

        await().atMost(untilNextTokens.plus(SOON)).until(() -> Instant.now().isAfter(nextTokensFrom));
        first.workOn();
        first = rolledOut(first, new Release("new 1", ShardedLocks.of(mine(), NEXT)), second);
        second = rolledOut(second, new Release("new 2", ShardedLocks.of(others(), NEXT)), first);
        first.close();
        second.close();

        history.check();
        for (String name : NAMES) {
            assertThat(ShardedLocks.of(mine(), NEXT).find(name)).isEmpty();
        }
    }

    /** One node of a release is replaced by the next release. Both releases work meanwhile. */
    private static Release rolledOut(Release before, Release after, Release other) throws Exception {
        before.close();
        after.workOn();
        other.workOn();
        return after;
    }

    /** The history notices if the roll-out in the middle is left out. */
    @Test
    void withoutTheMiddleANameHasTwoHolders() throws Exception {
        String moved = IntStream.range(0, 100)
                .mapToObj(number -> "moved:" + number)
                .filter(name -> NEXT.shardOf(name).equals("b"))
                .findFirst()
                .orElseThrow();
        History mixed = new History();
        try (LockHandle one = ShardedLocks.of(mine(), OLD).acquire(LockRequest.of(moved));
                LockHandle other = ShardedLocks.of(others(), NEXT).acquire(LockRequest.of(moved))) {
            long now = System.nanoTime();
            mixed.add(new Hold(moved, "old", one.fencingToken(), now, now + 2));
            mixed.add(new Hold(moved, "new", other.fencingToken(), now + 1, now + 3));
        }
        assertThatExceptionOfType(AssertionError.class).isThrownBy(mixed::check);
    }
}
