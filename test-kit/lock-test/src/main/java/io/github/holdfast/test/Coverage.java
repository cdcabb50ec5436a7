package io.github.holdfast.test;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Counts the tests of this JVM: by database, without a database, and skipped, by reason. At the end it prints the numbers, and
 * stores them for {@link DatabaseCoverage}.
 */
final class Coverage {

    /** The directory of a module's results, relative to the module. */
    static final Path DIRECTORY = Path.of("target", "databases");

    /** The prefix of properties that count tests without a database. The test class follows the prefix. */
    static final String ELSEWHERE = "elsewhere.";

    /** The prefix of properties that count skipped tests. The reason follows the prefix. */
    static final String SKIPPED = "skipped.";

    private static final Coverage INSTANCE = new Coverage();

    private final Map<TestDatabase, Entry> entries = new EnumMap<>(TestDatabase.class);
    private final Map<String, Integer> elsewhere = new TreeMap<>();
    private final Map<String, Integer> skipped = new TreeMap<>();

    private Coverage() {}

    static Coverage ofThisJvm() {
        return INSTANCE;
    }

    /** Whether each test must run. This is so on a build server, marked by the environment variable {@code CI=true}. */
    static boolean mustBeComplete() {
        return Boolean.parseBoolean(System.getenv("CI"));
    }

    synchronized void started(TestDatabase kind, String version) {
        entries.putIfAbsent(kind, new Entry(version, null));
    }

    synchronized void problem(TestDatabase kind, String problem) {
        entries.putIfAbsent(kind, new Entry(null, problem));
    }

    synchronized void ran(TestDatabase kind) {
        Entry entry = entries.get(kind);
        if (entry != null) {
            entry.tests++;
        }
    }

    /** Counts a test that ran without an {@link OnDatabase} database. */
    synchronized void ran(String testClass) {
        elsewhere.merge(testClass, 1, Integer::sum);
    }

    /** Records a reason for skipping tests. */
    synchronized void missing(String reason) {
        skipped.putIfAbsent(reason, 0);
    }

    /** Counts skipped tests if the reason is a recorded one. Other tests are skipped on purpose. */
    synchronized void skipped(String reason, int tests) {
        skipped.computeIfPresent(reason, (same, before) -> before + tests);
    }

    synchronized void tell() {
        if (!entries.isEmpty()) {
            System.out.println("Databases covered: "
                    + entries.entrySet().stream()
                            .map(entry -> entry.getValue().line(entry.getKey()))
                            .collect(Collectors.joining("; ")));
        }
        skipped.forEach((reason, tests) -> System.out.println("Skipped: " + tests + " tests: " + reason));
        if (!entries.isEmpty() || !elsewhere.isEmpty() || !skipped.isEmpty()) {
            write();
        }
    }

    private void write() {
        Properties properties = new Properties();
        entries.forEach((kind, entry) -> entry.addTo(properties, kind.name()));
        elsewhere.forEach((type, tests) -> properties.setProperty(ELSEWHERE + type, Integer.toString(tests)));
        skipped.forEach((reason, tests) -> properties.setProperty(SKIPPED + reason, Integer.toString(tests)));
        Path module = Path.of(System.getProperty("basedir", ""));
        try {
            Path directory = Files.createDirectories(module.resolve(DIRECTORY));
            Path file = directory.resolve(ProcessHandle.current().pid() + ".properties");
            try (BufferedWriter writer = Files.newBufferedWriter(file)) {
                properties.store(writer, null);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static final class Entry {
        private final @Nullable String version;
        private final @Nullable String problem;
        private int tests;

        Entry(@Nullable String version, @Nullable String problem) {
            this.version = version;
            this.problem = problem;
        }

        String line(TestDatabase kind) {
            return problem != null ? problem : kind.label() + " " + version + ": " + tests + " tests";
        }

        void addTo(Properties properties, String kind) {
            if (version != null) {
                properties.setProperty(kind + ".version", version);
            }
            if (problem != null) {
                properties.setProperty(kind + ".problem", problem);
            }
            properties.setProperty(kind + ".tests", Integer.toString(tests));
        }
    }
}
