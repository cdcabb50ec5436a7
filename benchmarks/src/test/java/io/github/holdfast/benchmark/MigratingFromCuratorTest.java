package io.github.holdfast.benchmark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.benchmark.contestant.CuratorReadWrite;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.JavaSources;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the page on Curator, compiled and run on a ZooKeeper server: by nodes of each release, beside nodes of each other one. */
@Tag("long")
@OnDatabase(TestDatabase.H2_TCP)
class MigratingFromCuratorTest {

    private static final Duration LONG = Duration.ofSeconds(30);

    private TestingServer server;
    private MigrationPage page;
    private Node one;
    private Node other;

    @BeforeEach
    void open(Database database, @TempDir Path directory) throws Exception {
        List<String> blocks = JavaSources.blocksOf("migrate/migrating-from-curator.md");
        assertThat(blocks).hasSize(7);
        List<String> readWrite = blocks.get(4).lines().toList();
        assertThat(readWrite).hasSize(3);
        HoldfastLocks.createTables(database);
        page = MigrationPage.compile(
                directory,
                PAGE.formatted(
                        blocks.get(0),
                        blocks.get(1),
                        blocks.get(2),
                        blocks.get(3),
                        readWrite.get(0),
                        readWrite.get(1),
                        readWrite.get(2),
                        blocks.get(5),
                        blocks.get(6)));
        server = CuratorReadWrite.server();
        one = new Node(database, server, page);
        other = new Node(database, server, page);
    }

    @AfterEach
    void close() throws Exception {
        one.close();
        other.close();
        server.close();
        page.close();
    }

    @Test
    void theNodesOfThePageExcludeEachOtherAsItSays() throws Exception {
        try (Exclusive nodes = new Exclusive()) {
            nodes.assertThatTheyExcludeEachOther(one.node("old"), other.node("old"));
            nodes.assertThatTheyExcludeEachOther(one.node("old"), other.node("both"));
            nodes.assertThatTheyExcludeEachOther(one.node("both"), other.node("both"));
            nodes.assertThatTheyExcludeEachOther(one.node("both"), other.node("next"));
            nodes.assertThatTheyDoNotSeeEachOther(one.node("old"), other.node("next"));

            nodes.assertThatTheyExcludeEachOther(one.node("oldWriter"), other.node("bothReader"));
            nodes.assertThatTheyExcludeEachOther(one.node("oldReader"), other.node("bothWriter"));
            nodes.assertThatTheyExcludeEachOther(one.node("bothWriter"), other.node("bothReader"));
            nodes.assertThatTheyDoNotSeeEachOther(one.node("oldReader"), other.node("bothReader"));

            try (Exclusive.Inside old = nodes.enter(one.node("old"))) {
                assertThatExceptionOfType(LockNotAcquiredException.class)
                        .isThrownBy(() -> other.node("impatient").run(() -> {}))
                        .withMessageContaining("an old node holds it");
                assertThat(one.node("next").run(() -> {}))
                        .as("the refused node holds nothing")
                        .isTrue();
                old.leave();
            }
        }
    }

    @Test
    void aNodeWithBothLeadsAfterOldNodesAndBeforeNewOnes() throws Exception {
        AtomicInteger stepsOfBoth = new AtomicInteger();
        AtomicInteger stepsOfNext = new AtomicInteger();
        AtomicBoolean hasNext = new AtomicBoolean(true);
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try {
            LeaderLatch old = new LeaderLatch(one.curator(), "/reports");
            old.start();
            old.await();
            LeaderElection both = (LeaderElection)
                    page.call("bothLeader", other.holdfast().locks(), other.curator(), steps(stepsOfBoth));
            await("it has one of the two").atMost(LONG).until(both::isLeader);
            await("it wants the other one")
                    .atMost(LONG)
                    .until(() -> old.getParticipants().size() == 2);
            BooleanSupplier isWanted = hasNext::get;
            Future<Object> next =
                    thread.submit(() -> page.call("nextLeader", one.holdfast().locks(), steps(stepsOfNext), isWanted));
            assertThat(stepsOfBoth).as("an old node leads").hasValue(0);

            old.close();
            await("a node with both leads").atMost(LONG).until(() -> stepsOfBoth.get() > 2);
            assertThat(stepsOfNext).as("a node with both leads").hasValue(0);

            both.close();
            int last = stepsOfBoth.get();
            await("a new node leads").atMost(LONG).until(() -> stepsOfNext.get() > 2);
            assertThat(stepsOfBoth).as("a new node leads").hasValue(last);
            hasNext.set(false);
            next.get(LONG.toSeconds(), TimeUnit.SECONDS);
        } finally {
            thread.shutdownNow();
        }
    }

    private static Runnable steps(AtomicInteger count) {
        return () -> {
            count.incrementAndGet();
            LockSupport.parkNanos(Duration.ofMillis(2).toNanos());
        };
    }

    /** A node with both clients. */
    private record Node(LockingNode holdfast, CuratorFramework curator, MigrationPage page) implements AutoCloseable {

        Node(Database database, TestingServer server, MigrationPage page) {
            this(
                    new LockingNode(database),
                    CuratorFrameworkFactory.newClient(server.getConnectString(), new ExponentialBackoffRetry(1000, 3)),
                    page);
            curator.start();
        }

        UnderLock node(String method) throws Exception {
            return page.node(method, holdfast.locks(), curator);
        }

        @Override
        public void close() {
            holdfast.close();
            curator.close();
        }
    }

    private static final String PAGE = """
            package example;

            import io.github.holdfast.benchmark.UnderLock;
            import io.github.holdfast.election.*;
            import io.github.holdfast.lock.*;
            import io.github.holdfast.service.LockService;
            import java.time.Duration;
            import java.util.concurrent.TimeUnit;
            import java.util.function.BooleanSupplier;
            import org.apache.curator.framework.CuratorFramework;
            import org.apache.curator.framework.recipes.leader.LeaderLatch;
            import org.apache.curator.framework.recipes.locks.*;

            %3$s

            public class Page {

                interface Warehouse {
                    void ship(String order);
                }

                interface Prices {
                    void read();

                    default void replace() {
                        read();
                    }
                }

                record Report(Runnable step, BooleanSupplier isWanted) {
                    boolean hasNext() {
                        return isWanted.getAsBoolean();
                    }

                    void next() {
                        step.run();
                    }
                }

                public static UnderLock old(Locks locks, CuratorFramework client) {
                    return work -> {
                        Warehouse warehouse = order -> work.run();
                        %1$s
                        return true;
                    };
                }

                public static UnderLock next(Locks locks, CuratorFramework client) {
                    return work -> {
                        Warehouse warehouse = order -> work.run();
                        %2$s
                        return true;
                    };
                }

                public static UnderLock both(Locks locks, CuratorFramework client) {
                    return work -> {
                        Warehouse warehouse = order -> work.run();
                        %4$s
                        return true;
                    };
                }

                public static UnderLock impatient(Locks locks, CuratorFramework client) {
                    return work -> {
                        LockRequest request = LockRequest.of("/orders/1001").waitAtMost(Duration.ofMillis(100));
                        InterProcessMutex former = new InterProcessMutex(client, "/orders/1001");
                        new BothLocks(locks).run(request, former, lock -> work.run());
                        return true;
                    };
                }

                public static UnderLock oldReader(Locks locks, CuratorFramework client) {
                    return old(new InterProcessReadWriteLock(client, "/prices").readLock());
                }

                public static UnderLock oldWriter(Locks locks, CuratorFramework client) {
                    return old(new InterProcessReadWriteLock(client, "/prices").writeLock());
                }

                private static UnderLock old(InterProcessMutex mutex) {
                    return work -> {
                        mutex.acquire();
                        try {
                            work.run();
                            return true;
                        } finally {
                            mutex.release();
                        }
                    };
                }

                public static UnderLock bothReader(Locks locks, CuratorFramework client) {
                    return work -> {
                        BothLocks both = new BothLocks(locks);
                        Prices prices = work::run;
                        %5$s
                        %6$s
                        return true;
                    };
                }

                public static UnderLock bothWriter(Locks locks, CuratorFramework client) {
                    return work -> {
                        BothLocks both = new BothLocks(locks);
                        Prices prices = work::run;
                        %5$s
                        %7$s
                        return true;
                    };
                }

                public static LeaderElection bothLeader(LockService locks, CuratorFramework client, Runnable step) {
                    Report report = new Report(step, () -> true);
                    %8$s
                    return election;
                }

                public static void nextLeader(LockService locks, Runnable step, BooleanSupplier isWanted)
                        throws Exception {
                    Report report = new Report(step, isWanted);
                    %9$s
                }
            }
            """;
}
