package io.github.holdfast.faults;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What a worker has left when its clients are done.
 *
 * @param before the threads that there were before there were clients
 */
record Leftovers(LockService locks, HikariDataSource pool, Set<Thread> before) {

    private static final String OF_HOLDFAST = "holdfast-";

    /** The thread that listens for wake-ups, with a connection of its own. */
    private static final String LISTENING = OF_HOLDFAST + "wake-up";

    /** How many threads of each name an open service has at the most. */
    private static final Map<String, Integer> OF_OPEN_SERVICE = Map.of(
            OF_HOLDFAST + "heartbeat",
            1,
            OF_HOLDFAST + "expiry",
            1,
            OF_HOLDFAST + "in-doubt",
            1,
            OF_HOLDFAST + "kept",
            1,
            OF_HOLDFAST + "release",
            4,
            OF_HOLDFAST + "events",
            1,
            OF_HOLDFAST + "statement-timeout",
            1,
            OF_HOLDFAST + "waiters",
            1,
            LISTENING,
            1,
            OF_HOLDFAST + "housekeeping",
            1);

    /** The pool and the drivers have threads that come and go, or stay. */
    private static final List<String> OF_OTHERS =
            List.of("HikariPool", "PostgreSQL-JDBC", "MySQL ", "mysql-cj", "MariaDb");

    /** Asks until there is nothing left, or for so long. */
    List<String> ofOpenService(Duration patience) {
        return last(patience, this::now);
    }

    /** The same when the service is closed. */
    List<String> ofClosedService(Duration patience) {
        return last(
                patience, () -> Stream.concat(threads(Map.of()), connections(0)).toList());
    }

    private interface Look {
        List<String> take();
    }

    private static List<String> last(Duration patience, Look look) {
        long deadline = System.nanoTime() + patience.toNanos();
        List<String> left = look.take();
        while (!left.isEmpty() && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
            left = look.take();
        }
        return left;
    }

    private List<String> now() {
        List<String> left = new ArrayList<>();
        threads(OF_OPEN_SERVICE).forEach(left::add);
        connections(isListening() ? 1 : 0).forEach(left::add);
        locks.admin().waiters().forEach(waiter -> left.add("in the queue: " + waiter));
        left.addAll(holds());
        return left;
    }

    private List<String> holds() {
        LockAdmin admin = locks.admin();
        try {
            return admin.held("", LockAdmin.MAX_PAGE_SIZE).stream()
                    .filter(lock -> String.valueOf(lock.holder()).startsWith(admin.process()))
                    .map(lock -> "held: " + lock)
                    .toList();
        } catch (LockStoreException unknown) {
            return List.of("not known what is held: " + unknown.getMessage());
        }
    }

    private static boolean isListening() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().equals(LISTENING));
    }

    /** @param most how many may be borrowed */
    private Stream<String> connections(int most) {
        HikariPoolMXBean numbers = pool.getHikariPoolMXBean();
        return numbers.getActiveConnections() <= most && numbers.getThreadsAwaitingConnection() == 0
                ? Stream.empty()
                : Stream.of("connections borrowed: " + numbers.getActiveConnections() + ", waited for: "
                        + numbers.getThreadsAwaitingConnection());
    }

    private Stream<String> threads(Map<String, Integer> ofService) {
        Map<String, Long> names = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !before.contains(thread) || thread.getName().startsWith(OF_HOLDFAST))
                .map(Thread::getName)
                .filter(name -> OF_OTHERS.stream().noneMatch(name::startsWith))
                .collect(Collectors.groupingBy(name -> name, TreeMap::new, Collectors.counting()));
        return names.entrySet().stream()
                .filter(entry -> entry.getValue() > ofService.getOrDefault(entry.getKey(), 0))
                .map(entry -> entry.getValue() + " threads " + entry.getKey());
    }
}
