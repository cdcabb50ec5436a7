package io.github.holdfast.test;

import static java.util.stream.Collectors.toMap;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.EnumMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Reports, for all modules, which databases the tests ran on, and which tests were skipped because something is missing. It reads
 * the results of each test run in {@code target/databases}.
 *
 * <p>It needs no library, so that it also works after a failed build.
 *
 * <p>It counts tests since the last clean, or since the given instant. For this module itself, only skipped tests count.
 *
 * <p>With the environment variable {@code CI=true} a database without tests is an error.
 */
final class DatabaseCoverage {

    /** Directories to ignore. Tests of mutated code prove nothing, because that code is broken on purpose. */
    private static final Set<String> IGNORED = Set.of(".git", "src", "mutations");

    /** The tests of this module prove only that the databases work, not that Holdfast works on them. */
    private static final Path THIS_MODULE = Path.of("test-kit", "lock-test");

    /** The tests of this module start other or several servers. So each test class has its own line. */
    private static final Path CLUSTERS = Path.of("verification", "clusters");

    private static final String LINE = "%-14s %-12s %6d%n";

    private final Instant since;
    private final Map<TestDatabase, Row> rows = new EnumMap<>(TestDatabase.class);
    private final Map<String, Integer> clusters = new TreeMap<>();
    private final Map<String, Integer> skipped = new TreeMap<>();
    private int elsewhere;

    private DatabaseCoverage(Instant since) {
        this.since = since;
        for (TestDatabase kind : TestDatabase.values()) {
            rows.put(kind, new Row());
        }
    }

    /**
     * Prints one table for all modules, and then a line for each missing thing. On a build server, exits with 1 if a database has
     * no tests.
     *
     * @param args the directory of the project, and optionally the start of the build ({@code ${maven.build.timestamp}}); results
     *     of earlier builds are then ignored
     * @throws IOException if the directory cannot be read
     */
    public static void main(String[] args) throws IOException {
        DatabaseCoverage coverage = of(Path.of(args[0]), args.length > 1 ? Instant.parse(args[1]) : Instant.EPOCH);
        System.out.print(coverage);
        System.out.print(coverage.skipped());
        String missing = coverage.missing();
        if (!missing.isEmpty() && Coverage.mustBeComplete()) {
            System.out.print(missing);
            System.exit(1);
        }
    }

    static DatabaseCoverage of(Path project, Instant since) throws IOException {
        DatabaseCoverage coverage = new DatabaseCoverage(since);
        coverage.collect(project);
        return coverage;
    }

    private void collect(Path project) throws IOException {
        Files.walkFileTree(project, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                String name = String.valueOf(directory.getFileName());
                return IGNORED.contains(name) ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                boolean fact = file.toString().endsWith(".properties")
                        && file.getParent() != null
                        && file.getParent().endsWith(Coverage.DIRECTORY);
                if (fact && !attributes.lastModifiedTime().toInstant().isBefore(since)) {
                    add(project.relativize(file), file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
    }

    private void add(Path inProject, Path file) throws IOException {
        Properties properties = new Properties();
        try (BufferedReader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        }
        numbers(properties, Coverage.SKIPPED).forEach((reason, tests) -> skipped.merge(reason, tests, Integer::sum));
        if (inProject.startsWith(THIS_MODULE)) {
            return;
        }
        numbers(properties, Coverage.ELSEWHERE).forEach((type, tests) -> {
            if (inProject.startsWith(CLUSTERS)) {
                clusters.merge(type.replaceAll("Test$", ""), tests, Integer::sum);
            } else {
                elsewhere += tests;
            }
        });
        rows.forEach((kind, row) -> {
            row.tests += Integer.parseInt(properties.getProperty(kind + ".tests", "0"));
            addIfPresent(row.versions, properties.getProperty(kind + ".version", ""));
            addIfPresent(row.problems, properties.getProperty(kind + ".problem", ""));
        });
    }

    private static Map<String, Integer> numbers(Properties properties, String prefix) {
        return properties.stringPropertyNames().stream()
                .filter(name -> name.startsWith(prefix))
                .collect(toMap(
                        name -> name.substring(prefix.length()),
                        name -> Integer.parseInt(properties.getProperty(name))));
    }

    private static void addIfPresent(Set<String> values, String value) {
        if (!value.isEmpty()) {
            values.add(value);
        }
    }

    @Override
    public String toString() {
        StringBuilder table = new StringBuilder(String.format("%-14s %-12s %6s%n", "Database", "Version", "Tests"));
        rows.forEach((kind, row) ->
                table.append(String.format(LINE, kind.label(), String.join(", ", row.versions), row.tests)));
        clusters.forEach((name, tests) -> table.append(String.format(LINE, name, "cluster", tests)));
        table.append(String.format(LINE, "No database", "", elsewhere));
        int total = rows.values().stream().mapToInt(row -> row.tests).sum()
                + clusters.values().stream().mapToInt(tests -> tests).sum()
                + elsewhere;
        return table.append(String.format(LINE, "Total", "", total)).toString();
    }

    String skipped() {
        StringBuilder lines = new StringBuilder();
        skipped.forEach((reason, tests) -> lines.append(String.format("%6d skipped: %s%n", tests, reason)));
        return lines.isEmpty() ? "" : lines.insert(0, String.format("%n")).toString();
    }

    String missing() {
        StringBuilder missing = new StringBuilder();
        rows.forEach((kind, row) -> {
            if (row.tests == 0) {
                String reason = row.problems.isEmpty() ? "no test class asked for it" : String.join("; ", row.problems);
                missing.append(String.format("No test ran on %s: %s%n", kind.label(), reason));
            }
        });
        return missing.toString();
    }

    private static final class Row {
        private final TreeSet<String> versions = new TreeSet<>();
        private final TreeSet<String> problems = new TreeSet<>();
        private int tests;
    }
}
