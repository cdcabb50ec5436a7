package io.github.holdfast.benchmark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.benchmark.contestant.RedisServer;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.Unavailable;
import io.github.holdfast.test.sources.JavaSources;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The code of the page on Redisson, compiled and run on a Redis server: by nodes of each release, beside nodes of each other one. */
@Tag("long")
@OnDatabase(TestDatabase.H2_TCP)
class MigratingFromRedissonTest {

    @Test
    void theNodesOfThePageExcludeEachOtherAsItSays(Database database, @TempDir Path directory) throws Exception {
        if (!RedisServer.isInstalled()) {
            throw Unavailable.because("there is no Redis server", "redis-server");
        }
        List<String> blocks = JavaSources.blocksOf("migrate/migrating-from-redisson.md");
        assertThat(blocks).hasSize(5);
        List<String> readWrite = blocks.get(4).lines().toList();
        assertThat(readWrite).hasSize(3);
        HoldfastLocks.createTables(database);
        String code = PAGE.formatted(
                blocks.get(0),
                blocks.get(1),
                blocks.get(2),
                blocks.get(3),
                readWrite.get(0),
                readWrite.get(1),
                readWrite.get(2));
        try (RedisServer server = RedisServer.start();
                MigrationPage page = MigrationPage.compile(directory, code);
                Node one = new Node(database, server, page);
                Node other = new Node(database, server, page);
                Exclusive nodes = new Exclusive()) {
            nodes.assertThatTheyExcludeEachOther(one.node("old"), other.node("old"));
            nodes.assertThatTheyExcludeEachOther(one.node("old"), other.node("both"));
            nodes.assertThatTheyExcludeEachOther(one.node("both"), other.node("both"));
            nodes.assertThatTheyExcludeEachOther(one.node("both"), other.node("next"));
            nodes.assertThatTheyDoNotSeeEachOther(one.node("old"), other.node("next"));

            nodes.assertThatTheyExcludeEachOther(one.node("oldWriter"), other.node("bothReader"));
            nodes.assertThatTheyExcludeEachOther(one.node("oldReader"), other.node("bothWriter"));
            nodes.assertThatTheyExcludeEachOther(one.node("bothWriter"), other.node("bothReader"));
            nodes.assertThatTheyExcludeEachOther(one.node("bothWriter"), other.node("nextReader"));
            nodes.assertThatTheyExcludeEachOther(one.node("bothReader"), other.node("nextWriter"));
            nodes.assertThatTheyDoNotSeeEachOther(one.node("oldReader"), other.node("bothReader"));
            nodes.assertThatTheyDoNotSeeEachOther(one.node("bothReader"), other.node("nextReader"));

            assertThatANodeThatIsRefusedHoldsNothing(nodes, one, other);
        }
    }

    private static void assertThatANodeThatIsRefusedHoldsNothing(Exclusive nodes, Node one, Node other)
            throws Exception {
        try (Exclusive.Inside old = nodes.enter(one.node("old"))) {
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> other.node("impatient").run(() -> {}))
                    .withMessageContaining("an old node holds it");
            assertThat(one.node("next").run(() -> {})).isTrue();
            old.leave();
        }
    }

    /** A node with both clients. */
    private record Node(LockingNode holdfast, RedissonClient redisson, MigrationPage page) implements AutoCloseable {

        Node(Database database, RedisServer server, MigrationPage page) {
            this(new LockingNode(database), client(server), page);
        }

        private static RedissonClient client(RedisServer server) {
            Config config = new Config();
            config.useSingleServer().setAddress(server.url());
            return Redisson.create(config);
        }

        UnderLock node(String method) throws Exception {
            return page.node(method, holdfast.locks(), redisson);
        }

        @Override
        public void close() {
            redisson.shutdown();
            holdfast.close();
        }
    }

    private static final String PAGE = """
            package example;

            import io.github.holdfast.benchmark.UnderLock;
            import io.github.holdfast.lock.*;
            import java.time.Duration;
            import java.util.concurrent.TimeUnit;
            import java.util.concurrent.locks.Lock;
            import org.redisson.api.*;

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

                public static UnderLock old(Locks locks, RedissonClient redisson) {
                    return work -> {
                        Warehouse warehouse = order -> work.run();
                        %1$s
                        return true;
                    };
                }

                public static UnderLock next(Locks locks, RedissonClient redisson) {
                    return work -> {
                        Warehouse warehouse = order -> work.run();
                        %2$s
                        return true;
                    };
                }

                public static UnderLock both(Locks locks, RedissonClient redisson) {
                    return work -> {
                        Warehouse warehouse = order -> work.run();
                        %4$s
                        return true;
                    };
                }

                public static UnderLock impatient(Locks locks, RedissonClient redisson) {
                    return work -> {
                        LockRequest request = LockRequest.of("order:1001").waitAtMost(Duration.ofMillis(100));
                        new BothLocks(locks).run(request, redisson.getLock("order:1001"), lock -> work.run());
                        return true;
                    };
                }

                public static UnderLock oldReader(Locks locks, RedissonClient redisson) {
                    return under(redisson.getReadWriteLock("prices").readLock());
                }

                public static UnderLock oldWriter(Locks locks, RedissonClient redisson) {
                    return under(redisson.getReadWriteLock("prices").writeLock());
                }

                public static UnderLock nextReader(Locks locks, RedissonClient redisson) {
                    return under(locks.asReadWriteLock("prices").readLock());
                }

                public static UnderLock nextWriter(Locks locks, RedissonClient redisson) {
                    return under(locks.asReadWriteLock("prices").writeLock());
                }

                private static UnderLock under(Lock lock) {
                    return work -> {
                        lock.lock();
                        try {
                            work.run();
                            return true;
                        } finally {
                            lock.unlock();
                        }
                    };
                }

                public static UnderLock bothReader(Locks locks, RedissonClient redisson) {
                    return work -> {
                        BothLocks both = new BothLocks(locks);
                        Prices prices = work::run;
                        %5$s
                        %6$s
                        return true;
                    };
                }

                public static UnderLock bothWriter(Locks locks, RedissonClient redisson) {
                    return work -> {
                        BothLocks both = new BothLocks(locks);
                        Prices prices = work::run;
                        %5$s
                        %7$s
                        return true;
                    };
                }
            }
            """;
}
