package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectNestedClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectNestedMethod;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectPackage;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectUniqueId;

import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.process.JavaProcessBuilder;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.h2.engine.Constants;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

class OnDatabaseTest {

    private static final Duration LONG = Duration.ofMinutes(3);

    @TempDir
    private Path module = Path.of("set by JUnit");

    @OnDatabase(TestDatabase.H2_MEMORY)
    @Nested
    class OuterDatabase {

        private final Database database;

        OuterDatabase(Database database) {
            this.database = database;
        }

        @Nested
        class WithoutAnnotation {
            @Test
            void hasTheDatabaseOfItsOuterClass(Database inner) {
                assertThat(inner).isSameAs(database);
            }
        }

        @Nested
        @OnDatabase(TestDatabase.H2_FILE)
        class WithAnnotation {
            @Test
            void hasItsOwn(Database inner) {
                assertThat(inner.kind()).isEqualTo(TestDatabase.H2_FILE);
            }
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    @TestInstance(Lifecycle.PER_CLASS)
    class OneInstance {

        private final Database ofConstructor;
        private Database ofBeforeAll;

        OneInstance(Database database) {
            ofConstructor = database;
            ofBeforeAll = database;
        }

        @BeforeAll
        void beforeAll(Database database) {
            ofBeforeAll = database;
        }

        @Test
        void hasOneDatabase(Database database) {
            assertThat(database).isSameAs(ofConstructor).isSameAs(ofBeforeAll);
        }
    }

    @Test
    void countsTestsThatRan() throws Exception {
        try (JavaProcess run = run(Sample.class)) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines())
                    .contains(
                            "Databases covered: H2 (memory) " + Constants.VERSION + ": 2 tests",
                            "found 3, succeeded 1, failed 1");
        }
        assertThat(DatabaseCoverage.of(module, Instant.EPOCH).toString())
                .containsPattern("H2 \\(memory\\) +" + Constants.VERSION + " +2\n");
    }

    @Test
    void classRunsOnEachDatabaseAndEachCounts() throws Exception {
        try (JavaProcess run = run(OnEach.class)) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines())
                    .contains("found 9, succeeded 5, failed 1")
                    .anyMatch(line -> line.startsWith("Databases covered: H2 (memory) " + Constants.VERSION
                            + ": 3 tests; H2 (file) " + Constants.VERSION + ": 3 tests; MySQL did not start: "))
                    .anyMatch(line -> line.startsWith("Skipped: 3 tests: MySQL did not start: "))
                    .as("the failure")
                    .anyMatch(line -> line.contains("H2 (file)") && line.contains("succeedsInMemory"));
        }
    }

    @Test
    void classOnEachDatabaseFailsOnABuildServerWhereOneIsMissing() throws Exception {
        try (JavaProcess run = builder(OnEach.class).env("CI", "true").start()) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines()).contains("found 9, succeeded 5, failed 1", "containers failed 1");
        }
    }

    @Test
    void databasesOfAClassCanBeSelected() throws Exception {
        String only = "-Dholdfast.test.databases=h2_file";
        try (JavaProcess run = builder(OnEach.class).jvmArgs(only).env("CI", "").start()) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines())
                    .contains("found 9, succeeded 2, failed 1")
                    .contains("Skipped: 3 tests: H2 (memory) is not one of holdfast.test.databases=h2_file")
                    .contains("Skipped: 3 tests: MySQL is not one of holdfast.test.databases=h2_file");
        }
    }

    @Test
    void innerClassCannotHaveItsOwnDatabases() throws Exception {
        try (JavaProcess run = run(WithInner.class)) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines())
                    .contains("found 1, succeeded 0, failed 0", "containers failed 1")
                    .anyMatch(line -> line.contains("@OnEachDatabase is for top-level classes"));
        }
    }

    @Test
    void partsOfAClassAreFoundOncePerDatabase() {
        assertThat(found(selectClass(OnEach.class))).hasSize(9);
        assertThat(found(selectMethod(OnEach.class, "sharesIts", Database.class)))
                .hasSize(3);
        assertThat(found(selectNestedClass(List.of(OnEach.class), OnEach.Inner.class)))
                .hasSize(3);
        assertThat(found(selectNestedMethod(List.of(OnEach.class), OnEach.Inner.class, "hasTheSame", Database.class)))
                .hasSize(3);
        assertThat(found(selectPackage(OnEach.class.getPackageName())))
                .containsAll(found(selectClass(OnEach.class)))
                .containsAll(found(selectClass(Sample.class)));
        String id = found(selectClass(OnEach.class)).get(0);
        assertThat(found(selectUniqueId(id))).containsExactly(id);
        String run = id.replaceFirst("]/\\[engine:junit-jupiter].*", "]");
        assertThat(found(selectUniqueId(run))).hasSize(3).contains(id);
    }

    @Test
    void usualDatabasesAreThoseOfMostClasses() {
        assertThat(found(selectClass(OnEach.class), "mysql,h2_file"))
                .as("on two of its three")
                .hasSize(6)
                .noneMatch(id -> id.contains("h2_memory"));
        assertThat(found(selectClass(OnEach.class), "mariadb"))
                .as("on its first, because it has none of them")
                .hasSize(3)
                .allMatch(id -> id.contains("h2_memory"));
        assertThat(found(selectClass(Everywhere.class), "mariadb"))
                .as("on all its own")
                .hasSize(2);
    }

    private static List<String> found(DiscoverySelector selector) {
        return found(selector, "");
    }

    private static List<String> found(DiscoverySelector selector, String usualDatabases) {
        TestPlan plan = LauncherFactory.create()
                .discover(LauncherDiscoveryRequestBuilder.request()
                        .selectors(selector)
                        .configurationParameter("holdfast.test.usual-databases", usualDatabases)
                        .build());
        return plan.getRoots().stream()
                .flatMap(root -> plan.getDescendants(root).stream())
                .filter(TestIdentifier::isTest)
                .map(TestIdentifier::getUniqueId)
                .sorted()
                .toList();
    }

    @Test
    void testsOnNoDatabaseCountTooAndThoseOnClustersByTheirClass() throws Exception {
        for (String name : List.of("some", "verification/clusters")) {
            try (JavaProcess run = builder(Elsewhere.class)
                    .jvmArgs("-Dbasedir=" + module.resolve(name))
                    .env("CI", "")
                    .start()) {
                assertThat(run.waitFor(LONG)).isZero();
            }
        }
        assertThat(DatabaseCoverage.of(module, Instant.EPOCH).toString())
                .containsPattern("H2 \\(memory\\) +0\n")
                .containsPattern("Elsewhere +cluster +2\n")
                .containsPattern("No database +2\n")
                .containsPattern("Total +4\n");
    }

    @Test
    void classWithoutItsServerIsSkipped() throws Exception {
        try (JavaProcess run = run(Unreachable.class)) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines()).contains("found 1, succeeded 0, failed 0");
            assertThat(run.lines()).anyMatch(line -> line.startsWith("Databases covered: MySQL did not start: "));
        }
        assertThat(DatabaseCoverage.of(module, Instant.EPOCH).missing())
                .containsPattern("No test ran on MySQL: MySQL did not start: .+\n")
                .contains("No test ran on MariaDB: no test class asked for it\n");
    }

    @Test
    void classWithoutItsServerFailsOnABuildServer() throws Exception {
        try (JavaProcess run = builder(Unreachable.class).env("CI", "true").start()) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines()).contains("found 1, succeeded 0, failed 0", "containers failed 1");
        }
    }

    @Test
    void testsThatLackSomethingAreSkippedAndCountedByWhatTheyLack() throws Exception {
        try (JavaProcess run = run(Lacking.class)) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines())
                    .contains("Skipped: 1 tests: there is no time (Debian: apt-get install clock calendar)")
                    .contains("Skipped: 2 tests: there is no room")
                    .contains("found 4, succeeded 0, failed 0")
                    .noneMatch(line -> line.contains("on purpose"));
        }
        assertThat(DatabaseCoverage.of(module, Instant.EPOCH).skipped()).isEqualTo(String.format("""

                             2 skipped: there is no room
                             1 skipped: there is no time (Debian: apt-get install clock calendar)
                        """));
    }

    @Test
    void testsThatLackSomethingFailOnABuildServer() throws Exception {
        try (JavaProcess run = builder(Lacking.class).env("CI", "true").start()) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines())
                    .contains("found 4, succeeded 0, failed 1", "containers failed 1")
                    .noneMatch(line -> line.startsWith("Skipped: "));
        }
    }

    @Test
    void databasesThatAreLeftOutAreToldAndFailOnABuildServer() throws Exception {
        String only = "-Dholdfast.test.databases=h2_file,h2_tcp";
        String told = "H2 (memory) is not one of holdfast.test.databases=h2_file,h2_tcp";
        try (JavaProcess run = builder(Sample.class).jvmArgs(only).env("CI", "").start()) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines()).contains("Skipped: 3 tests: " + told, "found 3, succeeded 0, failed 0");
        }
        try (JavaProcess run =
                builder(Sample.class).jvmArgs(only).env("CI", "true").start()) {
            assertThat(run.waitFor(LONG)).isZero();
            assertThat(run.lines()).contains("containers failed 1").anyMatch(line -> line.contains(told));
        }
    }

    @Test
    void missingDatabaseFailsOnlyOnABuildServer() throws Exception {
        try (JavaProcess report = JavaProcess.of(DatabaseCoverage.class)
                .args(module.toString())
                .env("CI", "")
                .start()) {
            assertThat(report.waitFor(LONG)).isZero();
            assertThat(report.lines()).anyMatch(line -> line.matches("Total +0"));
        }
        try (JavaProcess report = JavaProcess.of(DatabaseCoverage.class)
                .args(module.toString())
                .env("CI", "true")
                .start()) {
            assertThat(report.waitFor(LONG)).isEqualTo(1);
            assertThat(report.lines()).contains("No test ran on H2 (file): no test class asked for it");
        }
    }

    @Test
    void theReportNeedsNoLibrary() throws Exception {
        var location =
                DatabaseCoverage.class.getProtectionDomain().getCodeSource().getLocation();
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-classpath",
                Path.of(location.toURI()).toString(),
                DatabaseCoverage.class.getName(),
                module.toString());
        builder.environment().remove("CI");
        Process report = builder.redirectErrorStream(true).start();
        String output = new String(report.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(report.waitFor()).as(output).isZero();
        assertThat(output).containsPattern("Total +0");
    }

    @Test
    void earlierBuildsAreIgnored() throws Exception {
        try (JavaProcess run = run(Sample.class)) {
            assertThat(run.waitFor(LONG)).isZero();
        }
        try (JavaProcess report = JavaProcess.of(DatabaseCoverage.class)
                .args(module.toString(), "2999-01-01T00:00:00Z")
                .env("CI", "")
                .start()) {
            assertThat(report.waitFor(LONG)).isZero();
            assertThat(report.lines()).anyMatch(line -> line.matches("Total +0"));
        }
    }

    private JavaProcess run(Class<?> sample) {
        return builder(sample).env("CI", "").start();
    }

    private JavaProcessBuilder builder(Class<?> sample) {
        return JavaProcess.of(Launch.class)
                .jvmArgs("-Dbasedir=" + module, "-Dholdfast.test.mysql.url=jdbc:mysql://127.0.0.1:1/mysql")
                .args(sample.getName());
    }

    @OnEachDatabase({TestDatabase.H2_MEMORY, TestDatabase.H2_FILE})
    @Tag(OnEachDatabase.EVERYWHERE)
    static final class Everywhere {
        @Test
        void succeeds() {}
    }

    /** Run by {@link Launch}: one test succeeds, one fails, one is skipped. */
    @OnDatabase(TestDatabase.H2_MEMORY)
    static final class Sample {
        @Test
        void succeeds() {}

        @Test
        void fails() {
            throw new AssertionError("on purpose");
        }

        @Test
        @Disabled("on purpose")
        void isSkipped() {}
    }

    /** Run by {@link Launch}: one test fails on one database. */
    @OnEachDatabase({TestDatabase.H2_MEMORY, TestDatabase.H2_FILE, TestDatabase.MYSQL})
    @TestInstance(Lifecycle.PER_CLASS)
    static final class OnEach {

        private static @Nullable Database former;

        private final Database ofConstructor;
        private Database ofBeforeAll;

        OnEach(Database database) {
            ofConstructor = database;
            ofBeforeAll = database;
        }

        @BeforeAll
        void beforeAll(Database database) {
            ofBeforeAll = database;
            if (former != null) {
                Database dropped = former;
                assertThat(database).isNotSameAs(dropped);
                assertThatThrownBy(() -> dropped.queryForLong("select count(*) from remains"))
                        .isInstanceOf(IllegalStateException.class);
            }
            former = database;
            database.execute("create table remains (id int)");
        }

        @Test
        void sharesIts(Database database) {
            assertThat(database).isSameAs(ofConstructor).isSameAs(ofBeforeAll);
        }

        @Test
        void succeedsInMemory(Database database) {
            assertThat(database.kind()).isEqualTo(TestDatabase.H2_MEMORY);
        }

        @Nested
        class Inner {
            @Test
            void hasTheSame(Database database) {
                assertThat(database).isSameAs(ofConstructor);
            }
        }
    }

    /** Run by {@link Launch}. */
    static final class WithInner {
        @Nested
        @OnEachDatabase
        class Inner {
            @Test
            void neverRuns() {}
        }
    }

    /** Run by {@link Launch}. */
    static final class Elsewhere {
        @Test
        void runs() {}

        @Nested
        class Inner {
            @Test
            void runsToo() {}
        }
    }

    /** Run by {@link Launch}, with a URL where no server is. */
    @OnDatabase(TestDatabase.MYSQL)
    static final class Unreachable {
        @Test
        void neverRuns() {}
    }

    /** Run by {@link Launch}: a class, and a test, that lack something, and one that is skipped for another reason. */
    @SuppressWarnings("DoNotCallSuggester") // JUnit calls them.
    static final class Lacking {
        @Test
        void needsTime() {
            throw Unavailable.because("there is no time", "clock", "calendar");
        }

        @Test
        @Disabled("on purpose")
        void isSkipped() {}

        @Nested
        class NeedRoom {
            @BeforeAll
            static void findRoom() {
                throw Unavailable.because("there is no room");
            }

            @Test
            void oneNeverRuns() {}

            @Test
            void anotherOneNeverRuns() {}
        }
    }

    static final class Launch {
        private Launch() {}

        public static void main(String[] args) throws ClassNotFoundException {
            SummaryGeneratingListener listener = new SummaryGeneratingListener();
            LauncherFactory.create()
                    .execute(
                            LauncherDiscoveryRequestBuilder.request()
                                    .selectors(selectClass(Class.forName(args[0])))
                                    .build(),
                            listener);
            var summary = listener.getSummary();
            summary.printFailuresTo(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
            System.out.println("found " + summary.getTestsFoundCount() + ", succeeded "
                    + summary.getTestsSucceededCount() + ", failed " + summary.getTestsFailedCount());
            System.out.println("containers failed " + summary.getContainersFailedCount());
        }
    }
}
