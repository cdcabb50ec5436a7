package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;

import com.sun.management.ThreadMXBean;
import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.Proxy;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What a cycle and a heartbeat cost, in counts that do not depend on the machine, compared with the {@link RecordedCosts}. It finds the
 * drift of many changes, each of which costs too little to be measured. {@link StatementCountTest} has the statements of all operations.
 */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase({POSTGRESQL, MARIADB, MYSQL})
class OperationCostTest {

    /** Drivers have prepared the statements then, and the JVM has linked and compiled what allocates. */
    private static final int WARM_UP = 400;

    private static final int SAMPLES = 400;
    private static final int DESCRIPTION = 90;
    private static final Pattern PARAMETER = Pattern.compile("\\?");
    private static final Pattern SUBPLAN = Pattern.compile("\\s*(InitPlan|SubPlan|CTE) \\S+( .*)?");
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final Comparator<List<String>> CHEAPEST = Comparator.<List<String>>comparingInt(List::size)
            .thenComparingInt(sql -> String.join("", sql).length());

    private final String threadName = Thread.currentThread().getName();
    private final Database database;
    private final Map<String, Long> costs = new TreeMap<>();

    OperationCostTest(Database database) {
        this.database = database;
    }

    /** Measures an operation while it performs it. */
    private interface Meter {
        LockHandle measure(String operation, Callable<LockHandle> work) throws Exception;
    }

    /** What one operation costs the calling thread, and on the wire. */
    private record Usage(long roundTrips, long sent, long received, long allocated) {}

    @AfterEach
    void renameThread() {
        Thread.currentThread().setName(threadName);
    }

    @Test
    void operationsCostWhatWasRecorded() throws Exception {
        countStatements();
        countUsage();
        RecordedCosts.of(database.kind()).compareWith(costs);
    }

    private void countStatements() throws Exception {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        Map<String, List<String>> statements = new TreeMap<>();
        perform(pool -> pool.setDataSource(counting), WARM_UP, (operation, work) -> {
            counting.reset();
            LockHandle lock = work.call();
            // A slow machine causes more statements at times, and releases that ask who is next, and never less.
            statements.merge(
                    operation, counting.sql(), (one, other) -> CHEAPEST.compare(one, other) <= 0 ? one : other);
            return lock;
        });
        for (Map.Entry<String, List<String>> entry : statements.entrySet()) {
            List<String> sql = entry.getValue();
            put(entry.getKey(), "statements", sql.size());
            put(
                    entry.getKey(),
                    "columns",
                    sql.stream().mapToLong(OperationCostTest::columns).sum());
            if (database.kind() == POSTGRESQL) {
                put(entry.getKey(), "subplans", subplans(sql));
            }
        }
    }

    private void countUsage() throws Exception {
        Map<String, List<Usage>> usages = new TreeMap<>();
        try (Proxy proxy = Proxy.to(database.url())) {
            perform(pool -> pool.setJdbcUrl(proxy.url()), WARM_UP + SAMPLES, (operation, work) -> {
                long roundTrips = proxy.roundTrips();
                long sent = proxy.sentBytes();
                long received = proxy.receivedBytes();
                long before = THREADS.getCurrentThreadAllocatedBytes();
                LockHandle lock = work.call();
                long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
                usages.computeIfAbsent(operation, first -> new ArrayList<>())
                        .add(new Usage(
                                proxy.roundTrips() - roundTrips,
                                proxy.sentBytes() - sent,
                                proxy.receivedBytes() - received,
                                allocated));
                return lock;
            });
        }
        usages.remove("first-release");
        usages.forEach((operation, samples) -> {
            put(operation, "round-trips", lowest(samples, Usage::roundTrips));
            put(operation, "bytes-sent", lowest(samples, Usage::sent));
            put(operation, "bytes-received", lowest(samples, Usage::received));
            // MySQL's driver allocates differently for the transactions of heartbeats, from run to run.
            if (!operation.equals("heartbeat")) {
                put(operation, "bytes-allocated", lowest(samples, Usage::allocated));
            }
        });
    }

    /** Acquires and releases a lock that stays as long as its node, and then sends heartbeats for it. */
    private void perform(Consumer<HikariConfig> pool, int times, Meter meter) throws Exception {
        LockRequest request = LockRequest.of("counted");
        try (Services services = Services.on(database)) {
            // No heartbeat comes by itself.
            LockService locks = services.build(
                    services.opened(database.pool(pool)), builder -> builder.nodeLease(Duration.ofMinutes(30)));
            fillDescription(locks, request);
            for (int time = 0; time < times; time++) {
                LockHandle lock = meter.measure("acquire", () -> locks.acquire(request));
                // The first one cannot know whether another service waits.
                meter.measure(time == 0 ? "first-release" : "release", () -> {
                    lock.release();
                    return lock;
                });
            }
            LockHandle lock = locks.acquire(request);
            for (int time = 0; time < times; time++) {
                meter.measure("heartbeat", () -> {
                    lock.renew(Duration.ofSeconds(30));
                    return lock;
                });
            }
            lock.release();
        }
    }

    /** Names this thread so that the description of the holder is as long with every process id, on every host. */
    private static void fillDescription(LockService locks, LockRequest request) throws InterruptedException {
        try (LockHandle lock = locks.acquire(request)) {
            String description = locks.find(lock.name()).map(LockInfo::holder).orElseThrow();
            Thread thread = Thread.currentThread();
            thread.setName("t"
                    .repeat(DESCRIPTION
                            - description.length()
                            + thread.getName().length()));
        }
    }

    /**
     * What the cheapest tenth costs at most: some need one statement more, such as a pool's check of an idle connection on a busy machine, and
     * releases of a slow machine ask who is next.
     */
    private static long lowest(List<Usage> samples, ToLongFunction<Usage> figure) {
        long[] sorted =
                samples.stream().skip(WARM_UP).mapToLong(figure).sorted().toArray();
        return sorted[sorted.length / 10];
    }

    /** How many columns an update writes. */
    private static long columns(String sql) {
        Matcher set = Pattern.compile("update .*? set (.*)").matcher(sql);
        if (!set.matches()) {
            return 0;
        }
        int depth = 0;
        int columns = 1;
        String assignments = set.group(1);
        for (int at = 0; at < assignments.length() && !(depth == 0 && assignments.startsWith(" where ", at)); at++) {
            char next = assignments.charAt(at);
            depth += next == '(' ? 1 : next == ')' ? -1 : 0;
            columns += depth == 0 && next == ',' ? 1 : 0;
        }
        return columns;
    }

    /** How many plans PostgreSQL starts beside the main one, for a statement that it was told to prepare once and for all. */
    private long subplans(List<String> statements) throws SQLException {
        long subplans = 0;
        try (Connection connection = database.dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("set plan_cache_mode = force_generic_plan");
            for (String sql : statements) {
                List<String> parameters = new ArrayList<>();
                // A driver would say of which type this parameter is.
                String typed = sql.replace("? is null", "cast(? as text) is null");
                String numbered = PARAMETER.matcher(typed).replaceAll(found -> {
                    parameters.add("null");
                    return "\\$" + parameters.size();
                });
                statement.execute("prepare counted as " + numbered);
                String execution = parameters.isEmpty() ? "counted" : "counted(" + String.join(", ", parameters) + ")";
                try (ResultSet plan = statement.executeQuery("explain execute " + execution)) {
                    while (plan.next()) {
                        subplans += SUBPLAN.matcher(plan.getString(1)).matches() ? 1 : 0;
                    }
                }
                statement.execute("deallocate counted");
            }
        }
        return subplans;
    }

    private void put(String operation, String unit, long count) {
        costs.put(operation + "." + unit, count);
    }
}
