package io.github.holdfast.service;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.management.ObjectName;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** How many types and frames of Holdfast stand between a call of a user and its statement. More would be a maze. */
@OnDatabase(TestDatabase.H2_MEMORY)
class CallPathTest {

    private final List<Path> paths = new CopyOnWriteArrayList<>();
    private Services services;
    private LockService locks;

    /** The frames of main code when a statement was sent, the innermost first. */
    private record Path(List<String> frames) {

        static Path ofCurrentThread() {
            return new Path(StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
                    .walk(frames -> frames.filter(frame -> isOfMainCode(frame.getDeclaringClass()))
                            .map(frame -> typeName(frame.getDeclaringClass()) + "." + frame.getMethodName())
                            .toList()));
        }

        private static boolean isOfMainCode(Class<?> type) {
            return type.getName().startsWith("io.github.holdfast.")
                    && !Proxy.isProxyClass(type)
                    && !type.getName().startsWith("io.github.holdfast.test.")
                    && !type.getName().startsWith(CallPathTest.class.getName());
        }

        /** A nested type counts as part of the one that it is nested in. */
        private static String typeName(Class<?> type) {
            return type.getNestHost().getSimpleName();
        }

        long types() {
            return frames.stream()
                    .map(frame -> frame.substring(0, frame.indexOf('.')))
                    .distinct()
                    .count();
        }

        @Override
        public String toString() {
            return "%d types, %d frames:%n%s"
                    .formatted(types(), frames.size(), frames.stream().collect(joining("\n")));
        }
    }

    @BeforeEach
    void open(Database database) {
        services = Services.on(database);
        locks = services.build(
                services.patientPoolOver(new Watched(database.dataSource())),
                builder -> builder.nodeLease(Duration.ofSeconds(3)));
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private Path onlyPath() {
        assertThat(paths).hasSize(1);
        return paths.get(0);
    }

    private static void assertShort(Path path, int types, int frames) {
        assertThat(path.types()).as(path.toString()).isLessThanOrEqualTo(types);
        assertThat(path.frames()).as(path.toString()).hasSizeLessThanOrEqualTo(frames);
    }

    @Test
    void ofAnAcquisition() throws Exception {
        LockRequest request = LockRequest.of("order").lease(Duration.ofMinutes(1));
        locks.acquire(request).close();
        paths.clear();
        LockHandle lock = locks.acquire(request);
        assertShort(onlyPath(), 9, 16);
        lock.close();
    }

    @Test
    void ofARelease() throws Exception {
        LockHandle lock = locks.acquire(LockRequest.of("order").lease(Duration.ofMinutes(1)));
        paths.clear();
        lock.release();
        assertShort(onlyPath(), 8, 14);
    }

    @Test
    void ofAHeartbeat() throws Exception {
        LockHandle lock = locks.acquire(LockRequest.of("order"));
        paths.clear();
        // The read of all nodes may come first.
        Path path = await().until(
                        () -> paths.stream()
                                .filter(any -> any.toString().contains("Heartbeat.beat"))
                                .findFirst(),
                        Optional::isPresent)
                .orElseThrow();
        assertShort(path, 3, 9);
        lock.close();
    }

    /**
     * Counts the objects of the engine by the JVM's histogram of classes, which includes garbage that was not collected yet. If the JVM
     * collects some between two histograms, the count means nothing, and the next acquisition counts.
     */
    @Test
    void objectsOfAnAcquisition() throws Exception {
        LockRequest request = LockRequest.of("order").lease(Duration.ofMinutes(1));
        locks.acquire(request).close();
        Map<String, Integer> added;
        long collections;
        do {
            collections = collections();
            Map<String, Integer> before = objects();
            LockHandle lock = locks.acquire(request);
            added = objects();
            for (Map.Entry<String, Integer> type : before.entrySet()) {
                added.merge(type.getKey(), -type.getValue(), Integer::sum);
            }
            lock.close();
        } while (collections() != collections);
        added.values().removeIf(count -> count == 0);
        assertThat(added.values().stream().mapToInt(Integer::intValue).sum())
                .as(added.toString())
                .isBetween(10, 17);
    }

    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionCount)
                .sum();
    }

    /** How many objects there are of each type of the engine. */
    private static Map<String, Integer> objects() throws Exception {
        String histogram = (String) ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "gcClassHistogram",
                        new Object[] {new String[] {"-all"}},
                        new String[] {String[].class.getName()});
        Pattern line = Pattern.compile("\\d+:\\s+(\\d+)\\s+\\d+\\s+(io\\.github\\.holdfast\\.service\\.engine\\.\\S+)");
        return histogram
                .lines()
                .map(line::matcher)
                .filter(Matcher::find)
                .filter(found -> !found.group(2).contains("$$Lambda"))
                .collect(Collectors.toMap(found -> found.group(2), found -> Integer.parseInt(found.group(1))));
    }

    private final class Watched extends DelegatingDataSource {

        Watched(DataSource real) {
            super(real);
        }

        @Override
        public Connection getConnection() throws SQLException {
            return watched(Connection.class, super.getConnection());
        }

        @Override
        public Connection getConnection(String user, String password) throws SQLException {
            return watched(Connection.class, super.getConnection(user, password));
        }

        private <T> T watched(Class<T> type, T real) {
            return type.cast(Proxy.newProxyInstance(
                    CallPathTest.class.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                        if (real instanceof PreparedStatement
                                && method.getName().startsWith("execute")) {
                            paths.add(Path.ofCurrentThread());
                        }
                        try {
                            Object result = method.invoke(real, arguments);
                            return result instanceof PreparedStatement statement
                                    ? watched(PreparedStatement.class, statement)
                                    : result;
                        } catch (InvocationTargetException thrown) {
                            throw thrown.getCause();
                        }
                    }));
        }
    }
}
