package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;

/** What operations may cost on a database: the base that is in the repository. It changes only on purpose. */
record RecordedCosts(Path file, Map<String, Long> base) {

    private static final String RECORD = "holdfast.test.record-costs";

    /** The JDK decides how much some of its own methods allocate. */
    private static final double TOLERANCE_OF_ALLOCATION = 0.03;

    static RecordedCosts of(TestDatabase database) throws IOException {
        Path file = ProjectDirectory.resolve(
                "lock-service/src/test/resources/costs/" + database.name().toLowerCase(Locale.ROOT) + ".properties");
        Properties properties = new Properties();
        if (Files.exists(file)) {
            try (Reader reader = Files.newBufferedReader(file)) {
                properties.load(reader);
            }
        }
        Map<String, Long> base = new TreeMap<>();
        properties.stringPropertyNames().forEach(name -> base.put(name, Long.valueOf(properties.getProperty(name))));
        return new RecordedCosts(file, base);
    }

    /** Fails if a cost differs from the base, or records all of them if the build was told to. */
    void compareWith(Map<String, Long> costs) throws IOException {
        if (Boolean.getBoolean(RECORD)) {
            List<String> lines = new ArrayList<>();
            lines.add("# What OperationCostTest has counted. Say in the commit why a figure changes.");
            costs.forEach((name, count) -> lines.add(name + "=" + count));
            Files.createDirectories(file.getParent());
            Files.write(file, lines);
            return;
        }
        assertThat(changes(costs))
                .as(
                        "Costs that are not those of %s. Recording a lower base keeps what was gained. A higher one needs a reason,"
                                + " in the commit. To record: ./mvnw test -pl lock-service -am -Dtest=OperationCostTest"
                                + " -Dsurefire.failIfNoSpecifiedTests=false -D%s=true",
                        file.getFileName(), RECORD)
                .isEmpty();
    }

    /** Names each cost that went up or down. */
    List<String> changes(Map<String, Long> costs) {
        TreeSet<String> names = new TreeSet<>(base.keySet());
        names.addAll(costs.keySet());
        List<String> changes = new ArrayList<>();
        for (String name : names) {
            Long before = base.get(name);
            Long now = costs.get(name);
            if (before == null || now == null) {
                changes.add(name
                        + (before == null ? " is not recorded: it is " + now : " was not counted: it was " + before));
            } else if (Math.abs(now - before) > tolerance(name, before)) {
                changes.add(name + (now > before ? " went up" : " went down") + " from " + before + " to " + now);
            }
        }
        return changes;
    }

    private static double tolerance(String name, long base) {
        return name.endsWith(".bytes-allocated") ? base * TOLERANCE_OF_ALLOCATION : 0;
    }
}
