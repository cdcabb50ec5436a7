package io.github.holdfast.shedlock;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class DurationsTest {

    private final Logger logger = (Logger) LoggerFactory.getLogger(HoldfastLockProvider.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final Durations durations = new Durations();

    @BeforeEach
    void capture() {
        log.start();
        logger.setLevel(ch.qos.logback.classic.Level.WARN);
        logger.setAdditive(false);
        logger.addAppender(log);
    }

    @AfterEach
    void captureNoMore() {
        logger.detachAppender(log);
        logger.setAdditive(true);
        logger.setLevel(null);
    }

    private static LockConfiguration configuration(Duration atMost, Duration atLeast) {
        return new LockConfiguration(Instant.EPOCH, "job", atMost, atLeast);
    }

    @Test
    void whatIsInRangeStays() {
        for (Duration atMost : new Duration[] {ofMillis(1), ofSeconds(30), ofDays(365)}) {
            assertThat(durations.atMost(configuration(atMost, ZERO))).isEqualTo(atMost);
            assertThat(durations.atLeast(configuration(atMost, atMost))).isEqualTo(atMost);
        }
        assertThat(log.list).isEmpty();
    }

    @Test
    void whatIsTooLongBecomesTheLongest() {
        assertThat(durations.atMost(configuration(ofDays(366), ZERO))).isEqualTo(ofDays(365));
        assertThat(durations.atLeast(configuration(ofDays(367), ofDays(366)))).isEqualTo(ofDays(365));
    }

    /** With the shortest lease, the lock would be lost before the grant is known, and the task would never run. */
    @Test
    void whatIsTooShortBecomesLongEnoughToRunTheTask() {
        assertThat(durations.atMost(configuration(ZERO, ZERO))).isEqualTo(ofSeconds(1));
        assertThat(durations.atMost(configuration(ofNanos(999_999), ZERO))).isEqualTo(ofSeconds(1));
        assertThat(durations.atLeast(configuration(ofSeconds(1), ofSeconds(-1))))
                .isEqualTo(ZERO);
    }

    @Test
    void thereIsOneWarningForAllLocks() {
        durations.atMost(configuration(ofDays(400), ZERO));
        durations.atMost(configuration(ofDays(400), ZERO));
        durations.atMost(new LockConfiguration(Instant.EPOCH, "another", ZERO, ZERO));
        assertThat(log.list)
                .singleElement()
                .satisfies(event -> assertThat(event.getFormattedMessage()).contains("'job'", "is 400 d: used 365 d"));
    }
}
