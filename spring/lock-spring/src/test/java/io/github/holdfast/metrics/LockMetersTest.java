package io.github.holdfast.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.sources.ProjectDirectory;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class LockMetersTest {

    private static final Duration SHORT = Duration.ofMillis(20);

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final LockMeters meters = LockMeters.of(registry, LockGroup.byPrefix());

    @Test
    void documentationListsEveryMeter() throws IOException {
        everythingHappens("order:1001");
        Map<String, String> registered = new TreeMap<>(documented());
        registered
                .keySet()
                .retainAll(List.of(
                        "holdfast.lock.waiting",
                        "holdfast.lock.dropped",
                        "holdfast.lock.kept",
                        "holdfast.heartbeat.age",
                        "holdfast.clock.step",
                        "holdfast.leader"));
        for (Meter meter : registry.getMeters()) {
            String tags =
                    meter.getId().getTags().stream().map(tag -> tag.getKey()).collect(Collectors.joining(", "));
            registered.put(
                    meter.getId().getName(), meter.getId().getType().name().toLowerCase(Locale.ROOT) + ": " + tags);
        }
        assertThat(documented()).isEqualTo(registered).hasSize(16);
        assertThat(registry.getMeters())
                .allSatisfy(meter -> assertThat(meter.getId().getDescription()).isNotBlank())
                .allSatisfy(meter -> assertThat(meter.getId().toString()).doesNotContain("1001"));
    }

    /** Name, and type with tags, of each row of the table. */
    private static Map<String, String> documented() throws IOException {
        Pattern row = Pattern.compile("\\| `(holdfast[.\\w]*)` \\| (timer|gauge|counter) \\| ([^|]*)\\|.*");
        return Files.readAllLines(ProjectDirectory.resolve("docs/operate/observability.md")).stream()
                .map(row::matcher)
                .filter(Matcher::matches)
                .collect(Collectors.toMap(
                        found -> found.group(1),
                        found -> found.group(2) + ": "
                                + Arrays.stream(found.group(3).split(","))
                                        .map(tag -> tag.replace("`", "").strip())
                                        .sorted()
                                        .collect(Collectors.joining(", ")),
                        (one, other) -> one,
                        TreeMap::new));
    }

    private void everythingHappens(String name) {
        meters.acquired(name, 1, SHORT);
        meters.refused(name, SHORT);
        meters.released(name, 1, SHORT, ReleaseOutcome.RELEASED);
        meters.lost(new LockLost(name, "owner", 1, LossCause.EXPIRED));
        meters.suspect(name, 1);
        meters.takenOver(name, 1, null);
        meters.overtaken(name);
        meters.deferred(name, 1);
        meters.commitRefused(name);
        meters.beaten(SHORT);
    }

    @Test
    void outcomesAreTold() {
        meters.acquired("order:1", 1, SHORT);
        meters.refused("order:2", SHORT);
        meters.failed("order:3", SHORT, new InterruptedException());
        meters.failed("order:4", SHORT, new IllegalStateException());
        assertThat(registry.find("holdfast.lock.acquire").timers())
                .extracting(timer -> entry(timer.getId().getTag("outcome"), timer.count()))
                .containsExactlyInAnyOrder(
                        entry("acquired", 1L), entry("refused", 1L), entry("interrupted", 1L), entry("failed", 1L));
    }

    @Test
    void lostLockThatIsReleasedAfterwardsWasHeldOnce() {
        meters.acquired("order:1", 1, SHORT);
        meters.acquired("order:2", 1, SHORT);
        assertThat(active()).isEqualTo(2);
        meters.lost(new LockLost("order:1", "owner", 1, LossCause.TAKEN_OVER));
        meters.released("order:1", 1, SHORT, ReleaseOutcome.LOST);
        assertThat(active()).isEqualTo(1);
        assertThat(registry.get("holdfast.lock.lost")
                        .tags("group", "order", "cause", "taken_over")
                        .counter()
                        .count())
                .isEqualTo(1);
    }

    @Test
    void countersOfAGroupAreThereBeforeTheyRise() {
        meters.acquired("order:1", 1, SHORT);
        assertThat(registry.get("holdfast.lock.lost").tag("group", "order").counters())
                .allMatch(counter -> counter.count() == 0)
                .map(counter -> counter.getId().getTag("cause"))
                .containsExactlyInAnyOrder("expired", "taken_over", "forced", "database_unreachable", "service_closed");
        assertThat(registry.get("holdfast.commit.refused")
                        .tag("group", "order")
                        .counter()
                        .count())
                .isZero();
    }

    @Test
    void nextHolderOfARowLockMayBeToldBeforeTheLastRelease() {
        meters.acquired("order:1", 7, SHORT);
        meters.acquired("order:1", 7, SHORT);
        meters.released("order:1", 7, SHORT, ReleaseOutcome.RELEASED);
        assertThat(active()).isEqualTo(1);
        meters.released("order:1", 7, SHORT, ReleaseOutcome.RELEASED);
        assertThat(active()).isZero();
    }

    @Test
    void holdersOfOneSemaphoreAreCountedByTheirGrants() {
        meters.acquired("order:1", 7, SHORT);
        meters.acquired("order:1", 8, SHORT);
        assertThat(active()).isEqualTo(2);
        meters.lost(new LockLost("order:1", "owner", 7, LossCause.FORCED));
        meters.released("order:1", 7, SHORT, ReleaseOutcome.LOST);
        assertThat(active()).isEqualTo(1);
        meters.released("order:1", 8, SHORT, ReleaseOutcome.RELEASED);
        assertThat(active()).isZero();
    }

    @Test
    void groupIsNeverTheName() {
        LockGroup groups = LockGroup.byPrefix();
        assertThat(groups.of("order:1001:2")).isEqualTo("order");
        assertThat(groups.of("order-1001")).isEqualTo("ungrouped");
        assertThat(groups.of(":1001")).isEqualTo("ungrouped");
    }

    private double active() {
        return registry.get("holdfast.lock.active")
                .tag("group", "order")
                .gauge()
                .value();
    }
}
