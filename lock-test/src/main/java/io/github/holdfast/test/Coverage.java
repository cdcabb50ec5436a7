package io.github.holdfast.test;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** How many tests of this JVM ran on which database. Told to the reader, and to {@link DatabaseCoverage}, at the end. */
final class Coverage implements AutoCloseable {

    /** Where the facts of a module are, seen from its directory. */
    static final Path DIRECTORY = Path.of("target", "databases");

    private static final Coverage INSTANCE = new Coverage();

    private final Map<TestDatabase, Entry> entries = new EnumMap<>(TestDatabase.class);

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

    @Override
    public synchronized void close() throws IOException {
        System.out.println("Databases covered: "
                + entries.entrySet().stream()
                        .map(entry -> entry.getValue().line(entry.getKey()))
                        .collect(Collectors.joining("; ")));
        Path module = Path.of(System.getProperty("basedir", ""));
        Path directory = Files.createDirectories(module.resolve(DIRECTORY));
        Path file = directory.resolve(ProcessHandle.current().pid() + ".properties");
        Properties properties = new Properties();
        entries.forEach((kind, entry) -> entry.addTo(properties, kind.name()));
        try (BufferedWriter writer = Files.newBufferedWriter(file)) {
            properties.store(writer, null);
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
