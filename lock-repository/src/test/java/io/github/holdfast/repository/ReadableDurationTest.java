package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReadableDurationTest {

    @ParameterizedTest
    @CsvSource({
        "PT10S, 10 s",
        "PT1M30S, 1 min 30 s",
        "PT0.045S, 45 ms",
        "PT0S, 0 s",
        "PT1H, 1 h",
        "P1D, 1 d",
        "P365DT1H1M1.5S, 365 d 1 h 1 min 1.5 s",
        "PT1M0.5S, 1 min 0.5 s",
        "PT10.001726525S, 10.001726525 s",
        "PT0.0015S, 1.5 ms",
        "PT0.0000015S, 1.5 µs",
        "PT0.000000001S, 0.001 µs",
        "PT-1M-30S, -1 min 30 s",
        "PT-0.001S, -1 ms"
    })
    void exactDuration(Duration value, String text) {
        assertThat(new ReadableDuration(value)).hasToString(text);
    }

    @ParameterizedTest
    @CsvSource({
        "PT10.001726525S, 10 s",
        "PT20.253399S, 20 s",
        "PT9.9999S, 9.999 s",
        "PT0.045678S, 45 ms",
        "PT0.000283348S, 283 µs",
        "PT0S, 0 s"
    })
    void measuredDuration(Duration measured, String text) {
        assertThat(ReadableDuration.about(measured)).hasToString(text);
    }

    @Test
    void theLongestDurationsHaveATextToo() {
        assertThat(new ReadableDuration(Duration.ofSeconds(Long.MAX_VALUE, 999_999_999)))
                .hasToString("106751991167300 d 15 h 30 min 7.999999999 s");
        assertThat(new ReadableDuration(Duration.ofSeconds(Long.MIN_VALUE)).toString())
                .startsWith("PT-");
    }
}
