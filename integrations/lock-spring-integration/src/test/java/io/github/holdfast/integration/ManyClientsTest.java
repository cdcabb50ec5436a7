package io.github.holdfast.integration;

import static io.github.holdfast.integration.Worker.LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/** Many clients want one lock at the same moment. */
@Tag("process")
@OnEachDatabase
@TestInstance(Lifecycle.PER_CLASS)
class ManyClientsTest {

    private static final int ROUNDS = 100;
    private static final int CLIENTS = 20;

    private List<Node> nodes;

    @BeforeAll
    void start(Database database) {
        nodes = List.of(Node.on(database), Node.on(database), Node.on(database));
    }

    @AfterAll
    void stop() {
        nodes.forEach(Node::close);
    }

    /** Each has a registry of its own. */
    private Lock ofClient(int client) {
        return HoldfastLockRegistry.of(nodes.get(client % nodes.size()).locks()).obtain("once");
    }

    /** As work that one of many instances does, and the others find done. */
    @Test
    void inEachRoundOneClientDoesTheWorkAndNoTwoAreInside() throws Exception {
        ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
        AtomicInteger inside = new AtomicInteger();
        try {
            for (int round = 0; round < ROUNDS; round++) {
                CyclicBarrier start = new CyclicBarrier(CLIENTS);
                // A plain field: only the lock makes it right.
                int[] done = {0};
                List<Callable<Boolean>> tasks = new ArrayList<>();
                for (int client = 0; client < CLIENTS; client++) {
                    Lock lock = ofClient(client);
                    tasks.add(() -> {
                        start.await();
                        assertThat(lock.tryLock(Long.MAX_VALUE, TimeUnit.MILLISECONDS))
                                .isTrue();
                        try {
                            assertThat(inside.incrementAndGet()).isEqualTo(1);
                            boolean isFirst = done[0] == 0;
                            done[0]++;
                            inside.decrementAndGet();
                            return isFirst;
                        } finally {
                            lock.unlock();
                        }
                    });
                }
                int first = 0;
                for (Future<Boolean> result : clients.invokeAll(tasks, LONG.toSeconds(), TimeUnit.SECONDS)) {
                    first += result.get() ? 1 : 0;
                }
                assertThat(first)
                        .as("clients that did the work of round %d", round)
                        .isEqualTo(1);
                assertThat(done[0]).isEqualTo(CLIENTS);
            }
        } finally {
            clients.shutdownNow();
        }
    }
}
