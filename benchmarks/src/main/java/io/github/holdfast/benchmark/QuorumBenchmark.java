package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Contestant;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.benchmark.contestant.RedisServer;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.quorum.QuorumLocks;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Compares a lock of three databases with a lock of each of them, and with Redisson's lock of one Redis server and its multi-lock of
 * three. One thread acquires and releases one name. All take turns in each round. Redisson's multi-lock needs all of its servers,
 * and the quorum needs two. The databases wait for the disk, and Redis does not.
 */
public final class QuorumBenchmark implements AutoCloseable {

    private static final List<TestDatabase> MEMBERS =
            List.of(TestDatabase.POSTGRESQL, TestDatabase.MYSQL, TestDatabase.MARIADB);
    private static final String NAME = "quorum";

    private final List<AutoCloseable> opened = new ArrayList<>();
    private final List<Entrant> entrants = new ArrayList<>();

    private record Entrant(String label, Contestant locks, Latencies latencies) {}

    private QuorumBenchmark() {}

    /**
     * Runs the benchmark. It takes about two minutes.
     *
     * @param arguments at most one argument; {@code quick} for a first look
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        boolean isQuick = arguments.length > 0 && arguments[0].equalsIgnoreCase("quick");
        try (QuorumBenchmark benchmark = new QuorumBenchmark()) {
            benchmark.open();
            if (isQuick) {
                benchmark.compare(1, 50);
            } else {
                benchmark.compare(3, 300); // The compilers of the JVM take their time.
                benchmark.forget();
                benchmark.compare(20, 200);
            }
            benchmark.print();
        }
    }

    private void open() throws Exception {
        List<LockService> services = new ArrayList<>();
        for (TestDatabase kind : MEMBERS) {
            Database database = opened(Databases.durable(kind));
            HoldfastLocks.createTables(database);
            HikariDataSource pool = opened(database.pool(config -> config.setMinimumIdle(config.getMaximumPoolSize())));
            EntityManagerFactory unit = opened(HoldfastLocks.unit(pool));
            LockService locks =
                    opened(LockService.builder(unit).withoutHousekeeping().build());
            services.add(locks);
            enter("Holdfast, " + kind.label() + " " + database.version(), of(locks));
        }
        enter("Holdfast, a quorum of these three", of(opened(QuorumLocks.of(services))));
        List<RedissonClient> clients = new ArrayList<>();
        for (int server = 0; server < MEMBERS.size(); server++) {
            clients.add(redisson(opened(RedisServer.start())));
        }
        RLock[] locks = clients.stream().map(client -> client.getLock(NAME)).toArray(RLock[]::new);
        enter("Redisson 4.7.0, one Redis server", of(locks[0]));
        enter("Redisson 4.7.0, a MultiLock of three", of(clients.get(0).getMultiLock(locks)));
    }

    private <T extends AutoCloseable> T opened(T one) {
        opened.add(0, one);
        return one;
    }

    private RedissonClient redisson(RedisServer server) {
        Config config = new Config();
        config.useSingleServer().setAddress(server.url());
        RedissonClient client = Redisson.create(config);
        opened.add(0, client::shutdown);
        return client;
    }

    private static Contestant of(Locks locks) {
        return new Contestant() {
            @Override
            public Held acquire(String name) throws InterruptedException {
                LockHandle handle = locks.acquire(LockRequest.of(name));
                return handle::release;
            }

            @Override
            public void close() {}
        };
    }

    private static Contestant of(RLock lock) {
        return new Contestant() {
            @Override
            public Held acquire(String name) {
                lock.lock();
                return lock::unlock;
            }

            @Override
            public void close() {}
        };
    }

    private void enter(String label, Contestant locks) {
        entrants.add(new Entrant(label, locks, new Latencies()));
    }

    /** Lets the contestants take turns, each time in another order. */
    private void compare(int rounds, int cycles) throws Exception {
        List<Entrant> turns = new ArrayList<>(entrants);
        Random order = new Random(2026);
        for (int round = 0; round < rounds; round++) {
            Collections.shuffle(turns, order);
            for (Entrant entrant : turns) {
                for (int cycle = 0; cycle < cycles; cycle++) {
                    entrant.latencies()
                            .measure(() -> entrant.locks().acquire(NAME).release());
                }
            }
        }
    }

    /** Forgets what was measured. */
    private void forget() {
        entrants.replaceAll(entrant -> new Entrant(entrant.label(), entrant.locks(), new Latencies()));
    }

    private void print() {
        System.out.println("| | acquire and release, median | p99 | cycles |");
        System.out.println("|---|---|---|---|");
        for (Entrant entrant : entrants) {
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %.2f ms | %.2f ms | %d |%n",
                    entrant.label(),
                    entrant.latencies().quantile(0.5),
                    entrant.latencies().quantile(0.99),
                    entrant.latencies().count());
        }
    }

    @Override
    public void close() throws Exception {
        for (AutoCloseable one : opened) {
            one.close();
        }
    }
}
