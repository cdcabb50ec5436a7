package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RecordedCostsTest {

    private static final RecordedCosts COSTS = new RecordedCosts(
            Path.of("base.properties"), Map.of("release.columns", 6L, "release.bytes-allocated", 2000L));

    @Test
    void costsOfTheBaseAreNoChange() {
        assertThat(COSTS.changes(COSTS.base())).isEmpty();
    }

    @Test
    void namesWhatWentUpOrDown() {
        assertThat(COSTS.changes(Map.of("release.columns", 7L, "release.bytes-allocated", 1900L)))
                .containsExactly(
                        "release.bytes-allocated went down from 2000 to 1900", "release.columns went up from 6 to 7");
    }

    @Test
    void namesWhatOnlyOneOfThemHas() {
        assertThat(COSTS.changes(Map.of("release.columns", 6L, "release.subplans", 0L)))
                .containsExactly(
                        "release.bytes-allocated was not counted: it was 2000",
                        "release.subplans is not recorded: it is 0");
    }

    @Test
    void onlyAllocationsMayDifferALittle() {
        assertThat(COSTS.changes(Map.of("release.columns", 6L, "release.bytes-allocated", 2059L)))
                .isEmpty();
    }
}
