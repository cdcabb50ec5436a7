package io.github.holdfast.integration;

import static io.github.holdfast.integration.Worker.LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.LockRegistry;

/** Three nodes work under one lock, while they are replaced one after the other: from the former registry to Holdfast's, and back. */
@Tag("process")
@OnEachDatabase
class RolloutTest {

    private static final int NODES = 3;
    private static final int ROUNDS_PER_STEP = 3;

    /** A node that works as fast as it can. Its replacement goes on in its place. */
    private static final class Slot {

        private final AtomicInteger rounds = new AtomicInteger();
        private volatile LockRegistry<DistributedLock> registry;

        Slot(LockRegistry<DistributedLock> registry) {
            this.registry = registry;
        }
    }

    private final AtomicBoolean isOver = new AtomicBoolean();
    private final AtomicInteger inside = new AtomicInteger();

    /** A plain field: only the lock makes it right. */
    private int count;

    @Test
    void noTwoNodesAreInsideWhileTheNodesAreReplaced(Database database) throws Exception {
        FormerNode.createTables(database);
        List<FormerNode> formers = new ArrayList<>();
        List<Node> nodes = new ArrayList<>();
        List<Slot> slots = new ArrayList<>();
        for (int number = 0; number < NODES; number++) {
            formers.add(FormerNode.on(database));
            nodes.add(Node.on(database));
            slots.add(new Slot(formers.get(number).registry()));
        }
        ExecutorService threads = Executors.newFixedThreadPool(NODES);
        try {
            List<Future<Integer>> work =
                    slots.stream().map(slot -> threads.submit(() -> work(slot))).toList();
            awaitProgress(slots, work);
            for (int number = 0; number < NODES; number++) {
                slots.get(number).registry = nodes.get(number)
                        .registry()
                        .togetherWith(formers.get(number).registry());
                awaitProgress(slots, work);
            }
            for (int number = 0; number < NODES; number++) {
                slots.get(number).registry = nodes.get(number).registry();
                awaitProgress(slots, work);
            }
            for (int number = 0; number < NODES; number++) {
                slots.get(number).registry = nodes.get(number)
                        .registry()
                        .togetherWith(formers.get(number).registry());
                awaitProgress(slots, work);
            }
            for (int number = 0; number < NODES; number++) {
                slots.get(number).registry = formers.get(number).registry();
                awaitProgress(slots, work);
            }
            isOver.set(true);
            int worked = 0;
            for (Future<Integer> result : work) {
                worked += result.get(LONG.toSeconds(), TimeUnit.SECONDS);
            }
            assertThat(count).isEqualTo(worked);
        } finally {
            isOver.set(true);
            threads.shutdown();
            assertThat(threads.awaitTermination(LONG.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            formers.forEach(FormerNode::close);
            nodes.forEach(Node::close);
        }
    }

    private int work(Slot slot) throws Exception {
        while (!isOver.get()) {
            // The old process has ended its work when the new one begins.
            Lock lock = slot.registry.obtain("rollout");
            lock.lock();
            try {
                assertThat(inside.incrementAndGet()).as("nodes inside").isEqualTo(1);
                int before = count;
                // Another thread would come in meanwhile, if it could.
                for (int spin = 0; spin < 10_000; spin++) {
                    Thread.onSpinWait();
                }
                count = before + 1;
                inside.decrementAndGet();
            } finally {
                lock.unlock();
            }
            slot.rounds.incrementAndGet();
        }
        return slot.rounds.get();
    }

    private static void awaitProgress(List<Slot> slots, List<Future<Integer>> work) {
        for (Slot slot : slots) {
            int before = slot.rounds.get();
            await().atMost(LONG).until(() -> {
                for (Future<Integer> failed :
                        work.stream().filter(Future::isDone).toList()) {
                    failed.get();
                }
                return slot.rounds.get() >= before + ROUNDS_PER_STEP;
            });
        }
    }
}
