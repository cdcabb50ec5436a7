package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/**
 * What a second factory of nothing but Holdfast's entities would cost, compared with those entities in the application's own factory:
 * the time until a lock service is built, and the heap that stays in use.
 */
public final class SecondFactoryBenchmark {

    private static final int WARM_UP = 8;
    private static final int ROUNDS = 15;
    private static final int PROCESSES = 5;
    private static final Duration LONG = Duration.ofMinutes(2);
    private static final String RESULT = "result ";

    private enum Way {
        /** The application without locks. */
        NONE,
        /** Holdfast's entities in the application's factory. */
        SHARED,
        /** A second factory. */
        SECOND
    }

    /**
     * The steps of one start.
     *
     * @param applications the application's factory
     * @param second the second factory
     * @param store the store, which is most of the service
     * @param cpu the processor time of this thread
     */
    private record Start(long applications, long second, long store, long cpu) {

        long sum() {
            return applications + second + store;
        }
    }

    private SecondFactoryBenchmark() {}

    /**
     * Runs it.
     *
     * @param arguments the databases, such as H2_MEMORY,POSTGRESQL; for a process of its own the way, entities, and a connection
     */
    public static void main(String[] arguments) throws InterruptedException {
        if (arguments.length == 6) {
            startOnce(arguments);
            return;
        }
        Path classes = Entities.compiled();
        List<TestDatabase> databases =
                Databases.chosen(arguments, List.of(TestDatabase.H2_MEMORY, TestDatabase.POSTGRESQL));
        for (TestDatabase kind : databases) {
            try (Database database = Database.create(kind);
                    HikariDataSource pool = database.pool(config -> {})) {
                HoldfastLocks.createTables(database);
                for (int entities : new int[] {1, 100}) {
                    inThisProcess(kind, pool, Entities.load(classes, entities));
                }
            }
        }
        try (Database database = Database.create(TestDatabase.POSTGRESQL)) {
            HoldfastLocks.createTables(database);
            for (int entities : new int[] {1, 100}) {
                inProcesses(database, classes, entities);
            }
        }
    }

    private static void inThisProcess(TestDatabase kind, HikariDataSource pool, List<Class<?>> entities) {
        Map<Way, List<Start>> starts = listForEachWay();
        for (int round = 0; round < WARM_UP + ROUNDS; round++) {
            for (int turn = 0; turn < Way.values().length; turn++) {
                Way way = Way.values()[(round + turn) % Way.values().length];
                try (Application application = new Application(way, pool, entities)) {
                    if (round >= WARM_UP) {
                        listOf(starts, way).add(application.start);
                    }
                }
            }
        }
        Map<Way, List<Long>> heap = listForEachWay();
        for (int round = 0; round < 5; round++) {
            for (Way way : Way.values()) {
                listOf(heap, way).add(heap(way, pool, entities));
            }
        }
        for (Way way : Way.values()) {
            System.out.printf(
                    Locale.ROOT,
                    "%s, %d entities, %s: %s; heap %d KB%n",
                    kind.label(),
                    entities.size(),
                    way,
                    text(listOf(starts, way)),
                    median(listOf(heap, way)) / 1024);
        }
    }

    private static <T> Map<Way, List<T>> listForEachWay() {
        Map<Way, List<T>> lists = new EnumMap<>(Way.class);
        for (Way way : Way.values()) {
            lists.put(way, new ArrayList<>());
        }
        return lists;
    }

    private static <T> List<T> listOf(Map<Way, List<T>> lists, Way way) {
        return Objects.requireNonNull(lists.get(way));
    }

    /** Four at once, because what one keeps is small compared with what the collector leaves behind. */
    private static long heap(Way way, HikariDataSource pool, List<Class<?>> entities) {
        int many = 4;
        long before = used();
        List<Application> kept = new ArrayList<>();
        try {
            for (int i = 0; i < many; i++) {
                kept.add(new Application(way, pool, entities));
            }
            return (used() - before) / many;
        } finally {
            kept.forEach(Application::close);
        }
    }

    private static long used() {
        for (int i = 0; i < 4; i++) {
            System.gc();
        }
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static void inProcesses(Database database, Path classes, int entities) throws InterruptedException {
        Map<Way, List<Start>> starts = listForEachWay();
        for (int round = -1; round < PROCESSES; round++) {
            for (int turn = 0; turn < Way.values().length; turn++) {
                Way way = Way.values()[(round + 1 + turn) % Way.values().length];
                try (JavaProcess process = JavaProcess.of(SecondFactoryBenchmark.class)
                        .args(
                                way.name(),
                                "" + entities,
                                classes.toString(),
                                database.url(),
                                database.user(),
                                database.password())
                        .start()) {
                    long[] numbers = Arrays.stream(process.awaitLine(line -> line.startsWith(RESULT), LONG)
                                    .substring(RESULT.length())
                                    .split(" "))
                            .mapToLong(Long::parseLong)
                            .toArray();
                    if (round >= 0) {
                        listOf(starts, way).add(new Start(numbers[0], numbers[1], numbers[2], numbers[3]));
                    }
                }
            }
        }
        for (Way way : Way.values()) {
            System.out.printf(
                    Locale.ROOT,
                    "%s, %d entities, %s, new JVMs: %s%n",
                    database.kind().label(),
                    entities,
                    way,
                    text(listOf(starts, way)));
        }
    }

    private static void startOnce(String[] arguments) {
        try (HikariDataSource pool = new HikariDataSource()) {
            pool.setJdbcUrl(arguments[3]);
            pool.setUsername(arguments[4]);
            pool.setPassword(arguments[5]);
            List<Class<?>> entities = Entities.load(Path.of(arguments[2]), Integer.parseInt(arguments[1]));
            try (Application application = new Application(Way.valueOf(arguments[0]), pool, entities)) {
                Start start = application.start;
                System.out.println(
                        RESULT + start.applications + " " + start.second + " " + start.store + " " + start.cpu);
            }
        }
    }

    private static String text(List<Start> starts) {
        return String.format(
                Locale.ROOT,
                "%.1f ms (factory %.1f, second factory %.1f, service %.1f), processor of this thread %.1f ms",
                median(starts.stream().map(Start::sum).toList()) / 1e6,
                median(starts.stream().map(Start::applications).toList()) / 1e6,
                median(starts.stream().map(Start::second).toList()) / 1e6,
                median(starts.stream().map(Start::store).toList()) / 1e6,
                median(starts.stream().map(Start::cpu).toList()) / 1e6);
    }

    private static long median(List<Long> numbers) {
        return numbers.stream().sorted().skip(numbers.size() / 2).findFirst().orElseThrow();
    }

    /** An application that is started. */
    private static final class Application implements AutoCloseable {

        private final List<AutoCloseable> open = new ArrayList<>();
        private final Start start;

        Application(Way way, HikariDataSource pool, List<Class<?>> entities) {
            long cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            long begin = System.nanoTime();
            HibernatePersistenceConfiguration configuration = new HibernatePersistenceConfiguration("application");
            configuration.managedClasses(entities).property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool);
            if (way == Way.SHARED) {
                // Not by the mapping file: to read XML costs a new JVM more than the entities.
                configuration.managedClasses(LockEntity.ENTITIES);
            }
            EntityManagerFactory factory = configuration.createEntityManagerFactory();
            open.add(factory);
            long afterFirst = System.nanoTime();
            if (way == Way.SECOND) {
                factory = SecondFactory.of(factory.unwrap(SessionFactoryImplementor.class));
                open.add(0, factory);
            }
            long afterSecond = System.nanoTime();
            if (way != Way.NONE) {
                open.add(0, LockService.builder(factory).withoutHousekeeping().build());
            }
            long end = System.nanoTime();
            start = new Start(
                    afterFirst - begin,
                    afterSecond - afterFirst,
                    end - afterSecond,
                    ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpu);
        }

        @Override
        public void close() {
            open.forEach(SecondFactoryBenchmark::close);
        }
    }

    private static void close(AutoCloseable closeable) {
        try {
            closeable.close();
        } catch (Exception failed) {
            throw new IllegalStateException(failed);
        }
    }
}
