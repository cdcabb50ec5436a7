package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.metrics.LockGroup;
import io.github.holdfast.metrics.LockMeters;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.ProjectDirectory;
import io.micrometer.core.instrument.Counter;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The Grafana dashboard asks Prometheus for what it has from a service, and for all of it. */
@OnDatabase(TestDatabase.H2_TCP)
class DashboardTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final Pattern METRIC = Pattern.compile("holdfast_\\w+");
    private static final Pattern LABELS = Pattern.compile("by \\(([^)]*)\\)|[{,]\\s*(\\w+)\\s*(?:=|!=)");
    private static final Pattern MEANING = Pattern.compile("_(count|sum|max)$");

    /** Added to every metric by Prometheus itself. */
    private static final Set<String> OF_PROMETHEUS = Set.of("job", "instance");

    private final JsonNode dashboard =
            JsonMapper.shared().readTree(ProjectDirectory.resolve("docs/grafana/holdfast.json"));

    private List<String> expressions() {
        return dashboard.findValues("expr").stream().map(JsonNode::asString).toList();
    }

    private static Set<String> found(Pattern pattern, String text) {
        return pattern.matcher(text).results().map(hit -> hit.group()).collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void everyExpressionNamesWhatAServiceTellsAndEverythingIsShown(Database database) throws Exception {
        String scraped = scraped(database);
        Set<String> metrics = Pattern.compile("(?m)^(holdfast_\\w+)")
                .matcher(scraped)
                .results()
                .map(line -> line.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        Set<String> labels = Pattern.compile("[{,](\\w+)=\"")
                .matcher(scraped)
                .results()
                .map(label -> label.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        labels.addAll(OF_PROMETHEUS);

        assertThat(expressions()).hasSizeGreaterThan(20).allSatisfy(expression -> {
            assertThat(found(METRIC, expression)).isNotEmpty().isSubsetOf(metrics);
            assertThat(labelsIn(expression)).isSubsetOf(labels);
        });
        assertThat(dashboard.at("/templating/list").findValues("definition"))
                .isNotEmpty()
                .allSatisfy(query ->
                        assertThat(found(METRIC, query.asString())).hasSize(1).isSubsetOf(metrics));
        assertThat(meanings(metrics)).isEqualTo(meanings(found(METRIC, String.join(" ", expressions()))));
    }

    private static Set<String> labelsIn(String expression) {
        Set<String> labels = new TreeSet<>();
        Matcher matcher = LABELS.matcher(expression);
        while (matcher.find()) {
            labels.add(matcher.group(1) == null ? matcher.group(2) : matcher.group(1));
        }
        return labels;
    }

    /** What is measured, whichever of its numbers it is. */
    private static Set<String> meanings(Set<String> metrics) {
        return metrics.stream()
                .map(metric -> MEANING.matcher(metric).replaceFirst(""))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void panelsHaveAnIdTheDataSourceThatIsChosenAndADescription() {
        List<JsonNode> panels = dashboard.path("panels").valueStream().toList();
        assertThat(panels).map(panel -> panel.path("id").asInt()).doesNotHaveDuplicates();
        assertThat(panels)
                .filteredOn(panel -> !panel.path("type").asString().equals("row"))
                .hasSizeGreaterThan(12)
                .allSatisfy(panel -> {
                    assertThat(panel.at("/datasource/uid").asString()).isEqualTo("${datasource}");
                    assertThat(panel.path("description").asString()).isNotBlank();
                    assertThat(panel.at("/fieldConfig/defaults/unit").asString())
                            .isNotBlank();
                });
        assertThat(dashboard.path("schemaVersion").asInt()).isGreaterThanOrEqualTo(38);
    }

    /** Of a service that has been used, and of what is hard to bring about. */
    private static String scraped(Database database) throws Exception {
        LockSchema.on(database.dataSource()).createIfMissing();
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        LockMeters meters = LockMeters.of(registry, LockGroup.byPrefix());
        ObservedService beans = new ObservedService();
        try (HikariDataSource pool = beans.dataSource(database);
                EntityManagerFactory unit = beans.entityManagerFactory(pool);
                LockService locks = LockService.builder(unit)
                        .withoutHousekeeping()
                        .nodeLease(Duration.ofSeconds(6))
                        .listener(meters)
                        .build()) {
            meters.observe(locks);
            meters.observe(locks.election(ElectionRequest.of("reports")));
            try (LockHandle held = locks.acquire(LockRequest.of("order:1").withoutFence())) {
                assertThat(locks.tryAcquire(LockRequest.of("order:1").owner("another")))
                        .isEmpty();
                await().atMost(SOON)
                        .until(() -> registry.find("holdfast.heartbeat").timer() != null);
            }
            LockHandle forced = locks.acquire(LockRequest.of("order:2"));
            assertThat(locks.admin().forceRelease("order:2", "a test")).isPresent();
            await().atMost(SOON)
                    .until(() -> registry.get("holdfast.lock.lost").counters().stream()
                                    .mapToDouble(Counter::count)
                                    .sum()
                            > 0);
            forced.release();
            meters.suspect("order:3", 1);
            meters.takenOver("order:3", 1, null);
            meters.overtaken("order:3");
            meters.deferred("order:3", 1);
            meters.commitRefused("order:3");
            return registry.scrape();
        }
    }
}
