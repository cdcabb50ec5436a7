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
 * How many tests of this JVM ran on which database, how many on none, and how many were skipped for what reason. Told to the reader, and to
 * {@link DatabaseCoverage}, at the end.
 */
final class Coverage {

    /** Where the facts of a module are, seen from its directory. */
    static final Path DIRECTORY = Path.of("target", "databases");

    /** What the names of those properties begin with that are numbers of tests on no database; their class follows. */
    static final String ELSEWHERE = "elsewhere.";

    /** What the names of those properties begin with that are numbers of skipped tests; the reason follows. */
    static final String SKIPPED = "skipped.";

    private static final Coverage INSTANCE = new Coverage();

    private final Map<TestDatabase, Entry> entries = new EnumMap<>(TestDatabase.class);
    private final Map<String, Integer> elsewhere = new TreeMap<>();
    private final Map<String, Integer> skipped = new TreeMap<>();

    private Coverage() {}

    static Coverage ofThisJvm() {
        return INSTANCE;
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

    /** Counts a test that ran on no {@link OnDatabase}. */
    synchronized void ran(String testClass) {
        elsewhere.merge(testClass, 1, Integer::sum);
    }

    /** That tests will be skipped for this reason. */
    synchronized void missing(String reason) {
        skipped.putIfAbsent(reason, 0);
    }

    /** Counts them, if the reason is that something is missing: other tests are skipped on purpose. */
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
