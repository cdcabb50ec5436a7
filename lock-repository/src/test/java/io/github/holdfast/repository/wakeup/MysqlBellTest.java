package io.github.holdfast.repository.wakeup;

import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.repository.store.TestThreads;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A ring ends a statement of another session. Sessions of the application sleep and write, on connections of the same pool and
 * user as those that listen and ring. None of their statements may end early.
 *
 * <p>The system property {@code holdfast.test.ring-seconds} says for how long (4).
 */
@OnEachDatabase({MARIADB, MYSQL}) // Those that have bells.
class MysqlBellTest {

    private static final Duration DURATION = ofSeconds(Long.getLong("holdfast.test.ring-seconds", 4));

    private static final int SLEEPERS = 6;
    private static final int LISTENERS = 3;
    private static final int RINGERS = 2;

    /** Fewer than the threads use at once. Somebody always waits for the next connection that is given back, mostly a sleeper. */
    private static final int CONNECTIONS = SLEEPERS + LISTENERS - 2;

    /** Those of all listeners, and of as many that have gone. */
    private static final int NUMBERS = 2 * LISTENERS;

    private static final double SLEEP_SECONDS = 0.05;

    /** A killed sleep is over earlier by any part of its time. The server's own sleep may be over a moment early. */
    private static final long SLEEP_NANOS = TimeUnit.MICROSECONDS.toNanos(49_500);

    private static final int NO_SUCH_THREAD = 1094;

    private final AtomicBoolean isOver = new AtomicBoolean();
    private final Queue<String> interrupted = new ConcurrentLinkedQueue<>();

    /** The bells that were in use last, the latest one first. Those of listeners that have gone stay for a while. */
    private final ConcurrentLinkedDeque<Long> numbers = new ConcurrentLinkedDeque<>();

    private final Set<Long> inUse = ConcurrentHashMap.newKeySet();

    private final AtomicInteger sleeps = new AtomicInteger();
    private final AtomicInteger updates = new AtomicInteger();
    private final AtomicInteger rings = new AtomicInteger();
    private final AtomicInteger ringsOfNobody = new AtomicInteger();
    private final AtomicInteger heard = new AtomicInteger();
    private final AtomicInteger listeners = new AtomicInteger();

    private final TestThreads threads = new TestThreads();
    private final ExecutorService background = Executors.newCachedThreadPool();
    private Database database;
    private final List<Connection> ringing = new ArrayList<>();
    private HikariDataSource pool;
    private EntityManagerFactory unit;
    private LockStore store;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        LockSchema.on(database.dataSource()).createIfMissing();
        database.execute(
                "drop table if exists counted", "create table counted (id int primary key, n bigint not null)");
        pool = database.pool(config -> config.setMaximumPoolSize(CONNECTIONS));
        unit = PersistenceUnit.directlyOn(pool, Map.of());
        store = LockStore.open(unit);
    }

    @AfterEach
    void close() throws Exception {
        isOver.set(true);
        threads.close();
        for (Connection connection : ringing) {
            connection.close();
        }
        background.shutdownNow();
        unit.close();
        pool.close();
    }

    private static int random(int bound) {
        return ThreadLocalRandom.current().nextInt(bound);
    }

    private interface Work {
        void run() throws Exception;
    }

    /** Repeats it on a thread of its own, until the end. */
    private Future<Void> repeat(Work work) {
        return threads.start(() -> {
            while (!isOver.get()) {
                work.run();
            }
            return null;
        });
    }

    // The application

    /** Each time on a connection from the pool, which may have been another's a moment ago. */
    private void useAConnection(int number) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            switch (random(4)) {
                case 0 -> timed("do sleep", () -> statement.execute("do sleep(" + SLEEP_SECONDS + ")"));
                case 1 ->
                    timed("update", () -> {
                        if (statement.executeUpdate("update counted set n = n + 1 where id = " + number + " and sleep("
                                        + SLEEP_SECONDS + ") = 0")
                                != 1) {
                            interrupted.add("an update changed nothing");
                        }
                        updates.incrementAndGet();
                    });
                default ->
                    timed("select sleep", () -> {
                        if (first(statement, "select sleep(" + SLEEP_SECONDS + ")") != 0) {
                            interrupted.add("a sleep returned 1");
                        }
                    });
            }
        }
    }

    private interface SqlWork {
        void run() throws SQLException;
    }

    private void timed(String what, SqlWork work) {
        long start = System.nanoTime();
        try {
            work.run();
            long nanos = System.nanoTime() - start;
            if (nanos < SLEEP_NANOS) {
                interrupted.add(what + " was over after " + nanos / 1000 + " microseconds");
            }
        } catch (SQLException failed) {
            interrupted.add(what + ": " + failed);
        }
        sleeps.incrementAndGet();
    }

    private static long first(Statement statement, String sql) throws SQLException {
        try (ResultSet result = statement.executeQuery(sql)) {
            result.next();
            return result.getLong(1);
        }
    }

    // Those that listen and ring

    /** A service that listens for a moment. */
    private final class Listener implements WakeUpChannel.Receiver {

        private final WakeUpChannel channel =
                store.wakeUpChannel(background::execute).orElseThrow();
        private final CountDownLatch ready = new CountDownLatch(1);
        private volatile boolean isOpen = true;
        private volatile long number;

        /** Listens, and ends in one of the ways in which a service ends. */
        void live() throws Exception {
            Future<?> listening = background.submit(() -> channel.listen(this));
            if (ready.await(10, TimeUnit.SECONDS)) {
                listeners.incrementAndGet();
                pause(500);
                switch (random(3)) {
                    case 0 -> isOpen = false;
                    case 1 -> killConnection(number);
                    default -> channel.stopListening();
                }
            }
            isOpen = false;
            while (!hasEnded(listening)) {
                channel.stopListening();
            }
            inUse.remove(number);
        }

        private boolean hasEnded(Future<?> listening) throws InterruptedException {
            try {
                listening.get(20, TimeUnit.MILLISECONDS);
                return true;
            } catch (TimeoutException stillListening) {
                return false;
            } catch (ExecutionException broken) {
                assertThat(broken).hasCauseInstanceOf(StoreException.class);
                return true;
            }
        }

        @Override
        public boolean isOpen() {
            return isOpen;
        }

        @Override
        public void ready() {
            number = Objects.requireNonNull(channel.bell());
            inUse.add(number);
            numbers.addFirst(number);
            if (numbers.size() > NUMBERS) {
                numbers.pollLast();
            }
            ready.countDown();
        }

        @Override
        public void woken(Supplier<List<String>> free) {
            assertThat(free.get()).isEmpty();
            heard.incrementAndGet();
        }

        @Override
        public void awaitedElsewhere(String lockName) {}

        @Override
        public void lockReleased(String lockName) {}
    }

    private static void pause(int atMostMillis) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random(atMostMillis)));
    }

    /** Ends the connection of a listener, as an administrator or a broken network may. */
    private void killConnection(long number) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("kill connection is_used_lock('holdfast:" + number + "')");
        } catch (SQLException failed) {
            if (failed.getErrorCode() != NO_SUCH_THREAD) {
                throw failed;
            }
        }
    }

    private void ring(Connection connection) throws SQLException {
        List<Long> known = new ArrayList<>(random(2) == 0 ? numbers : inUse);
        if (known.isEmpty()) {
            return;
        }
        long number = known.get(random(known.size()));
        boolean isOfNobody = !inUse.contains(number);
        assertThat(MysqlBell.ring(connection, number)).isTrue();
        rings.incrementAndGet();
        if (isOfNobody) {
            ringsOfNobody.incrementAndGet();
        }
        pause(3);
    }

    @Test
    void aRingEndsNoStatementOfTheApplication() throws Exception {
        List<Future<Void>> work = new ArrayList<>();
        for (int number = 0; number < SLEEPERS; number++) {
            int own = number;
            database.execute("insert into counted values (" + own + ", 0)");
            work.add(repeat(() -> useAConnection(own)));
        }
        for (int number = 0; number < LISTENERS; number++) {
            work.add(repeat(() -> new Listener().live()));
        }
        for (int number = 0; number < RINGERS; number++) {
            Connection connection = database.dataSource().getConnection();
            ringing.add(connection);
            work.add(repeat(() -> ring(connection)));
        }
        long start = System.nanoTime();
        await().atMost(DURATION.plus(ofMinutes(1)))
                .until(() -> work.stream().anyMatch(Future::isDone)
                        || (System.nanoTime() - start >= DURATION.toNanos() && isEnough()));
        isOver.set(true);
        for (Future<Void> ended : work) {
            ended.get(1, TimeUnit.MINUTES);
        }
        System.out.printf(
                "%s: %d sleeps, %d of them in updates; %d rings, %d of them to listeners that had gone;"
                        + " %d heard by %d listeners; interrupted: %d%n",
                database.kind().label(),
                sleeps.get(),
                updates.get(),
                rings.get(),
                ringsOfNobody.get(),
                heard.get(),
                listeners.get(),
                interrupted.size());
        assertThat(interrupted).isEmpty();
        assertThat(database.queryForLong("select sum(n) from counted")).isEqualTo(updates.get());
    }

    /** Otherwise nothing would be shown. */
    private boolean isEnough() {
        return sleeps.get() >= 100
                && updates.get() >= 20
                && rings.get() >= 200
                && ringsOfNobody.get() >= 50
                && heard.get() >= 50
                && listeners.get() >= 10;
    }
}
