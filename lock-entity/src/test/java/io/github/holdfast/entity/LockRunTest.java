package io.github.holdfast.entity;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** In which period a run lies, without a database. */
class LockRunTest {

    @ParameterizedTest
    @CsvSource({
        "1970-01-01T00:00:00Z,        PT24H,     0",
        "1969-12-31T23:59:59.999999Z, PT24H,     -1",
        "2026-03-29T23:59:59.999999Z, PT24H,     20541",
        "2026-03-30T00:00:00Z,        PT24H,     20542",
        "2026-03-30T00:00:00Z,        PT1S,      1774828800",
        "2026-03-30T00:00:00.999999Z, PT1S,      1774828800",
        "2026-03-30T00:00:00Z,        PT8760H,   56",
        "1970-01-01T00:00:00.000003Z, PT0.0000015S, 3",
    })
    void periodsAreCountedFromTheEpoch(Instant instant, Duration period, long number) {
        assertThat(LockRun.periodOf(instant, period)).isEqualTo(number);
    }

    @ParameterizedTest
    @CsvSource({
        // The same period, to its last microsecond, and the next.
        "2026-03-30T13:05:00Z, PT1H,  2026-03-30T13:05:00Z,        true",
        "2026-03-30T13:05:00Z, PT1H,  2026-03-30T13:59:59.999999Z, true",
        "2026-03-30T13:05:00Z, PT1H,  2026-03-30T14:00:00Z,        false",
        "2026-03-30T13:00:00Z, PT1H,  2026-03-30T13:00:00Z,        true",
        // The clock was set back: into the period before, and further.
        "2026-03-30T13:05:00Z, PT1H,  2026-03-30T12:59:59Z,        true",
        "2026-03-30T13:05:00Z, PT1H,  2026-03-28T00:00:00Z,        true",
        // Hourly, then daily: the day has had its run. Daily, then hourly: each hour but that of the last run is due.
        "2026-03-30T13:05:00Z, PT24H, 2026-03-30T23:00:00Z,        true",
        "2026-03-30T13:05:00Z, PT24H, 2026-03-31T00:00:00Z,        false",
        "2026-03-30T00:00:00Z, PT1H,  2026-03-30T13:05:00Z,        false",
    })
    void aPeriodHasHadItsRunIfOneBeganInItOrLater(Instant begunAt, Duration period, Instant dbNow, boolean expected) {
        LockRun run = new LockRun();
        Columns.load(run, "begunAt", begunAt);

        assertThat(run.hasBegunSincePeriodBegan(period, dbNow)).isEqualTo(expected);
    }

    @Test
    void runTellsItsColumns() {
        Instant begunAt = Instant.parse("2026-03-29T00:59:59.999999Z");
        LockRun run = new LockRun();
        Columns.load(run, "name", "job");
        Columns.load(run, "fencingToken", 12L);
        Columns.load(run, "period", 20541L);
        Columns.load(run, "nodeId", "node-1");
        Columns.load(run, "holder", "4711@host-1/main");
        Columns.load(run, "begunAt", begunAt);
        Columns.load(run, "endedAt", begunAt.plusSeconds(1));
        Columns.load(run, "status", LockRun.Status.FAILED);
        Columns.load(run, "error", "IllegalStateException: no paper");

        assertThat(run.name()).isEqualTo("job");
        assertThat(run.fencingToken()).isEqualTo(12);
        assertThat(run.period()).isEqualTo(20541);
        assertThat(run.nodeId()).isEqualTo("node-1");
        assertThat(run.holder()).isEqualTo("4711@host-1/main");
        assertThat(run.begunAt()).isEqualTo(begunAt);
        assertThat(run.endedAt()).isEqualTo(begunAt.plusSeconds(1));
        assertThat(run.status()).isEqualTo(LockRun.Status.FAILED);
        assertThat(run.error()).isEqualTo("IllegalStateException: no paper");
        assertThat(Columns.of(run)).hasSize(9);
    }
}
