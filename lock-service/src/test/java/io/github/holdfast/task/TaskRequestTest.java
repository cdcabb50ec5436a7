package io.github.holdfast.task;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

/** What a request for a task may say, and what it is when it says nothing. */
class TaskRequestTest {

    private static final TaskRequest NIGHTLY = TaskRequest.of("nightly");

    @Test
    void sayWhatWasAskedFor() {
        TaskRequest request = NIGHTLY.every(ofDays(1))
                .minimumHold(ofSeconds(5))
                .lease(ofSeconds(60))
                .retryFailed();

        assertThat(request.name()).isEqualTo("nightly");
        assertThat(request.period()).contains(ofDays(1));
        assertThat(request.minimumHold()).contains(ofSeconds(5));
        assertThat(request.lease()).contains(ofSeconds(60));
        assertThat(request.isRetriedInPeriod()).isTrue();
        assertThat(request.lock().isReentrant()).isFalse();
        assertThat(request)
                .hasToString("TaskRequest[name=nightly, period=PT24H, minimumHold=PT5S, lease=PT1M,"
                        + " afterFailure=SAME_PERIOD]");
    }

    @Test
    void nothingIsSaidByDefaultAndRequestsDoNotChange() {
        TaskRequest unused = NIGHTLY.every(ofDays(1))
                .minimumHold(ofSeconds(5))
                .lease(ofSeconds(60))
                .retryFailed();

        assertThat(NIGHTLY.period()).isEmpty();
        assertThat(NIGHTLY.minimumHold()).isEmpty();
        assertThat(NIGHTLY.lease()).isEmpty();
        assertThat(NIGHTLY.isRetriedInPeriod()).isFalse();
    }

    @Test
    void aTaskThatWouldRunOnEveryNodeIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NIGHTLY.lease(ofSeconds(60)).complete())
                .withMessageContaining("'nightly'")
                .withMessageContaining("every(")
                .withMessageContaining("minimumHold(");
        assertThat(NIGHTLY.minimumHold(ZERO).complete().minimumHold()).isEmpty();
        assertThat(NIGHTLY.every(ofSeconds(1)).complete().period()).contains(ofSeconds(1));
    }

    @Test
    void durationsOutOfRangeAndBadNamesAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NIGHTLY.every(ofMillis(999)))
                .withMessageContaining("period");
        assertThatIllegalArgumentException().isThrownBy(() -> NIGHTLY.every(ofDays(366)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NIGHTLY.every(ofSeconds(1).plus(ofNanos(1))))
                .withMessageContaining("microseconds");
        assertThatIllegalArgumentException().isThrownBy(() -> NIGHTLY.minimumHold(ofMillis(-1)));
        assertThatIllegalArgumentException().isThrownBy(() -> NIGHTLY.lease(ZERO));
        assertThatIllegalArgumentException().isThrownBy(() -> TaskRequest.of(" nightly"));
    }

    @Test
    void anErrorIsToldWithItsRootAndWithinTheColumn() {
        Exception root = new IllegalStateException("no\npaper");
        assertThat(ErrorSummary.of(root)).isEqualTo("java.lang.IllegalStateException: no?paper");
        assertThat(ErrorSummary.of(new RuntimeException("printing", new RuntimeException("between", root))))
                .isEqualTo("java.lang.RuntimeException: printing; caused by java.lang.IllegalStateException: no?paper");
        assertThat(ErrorSummary.of(new RuntimeException("x".repeat(5000)))).hasSize(1000);
        // The last place would be taken by half a surrogate pair.
        String prefix = "java.lang.RuntimeException: ";
        assertThat(ErrorSummary.of(new RuntimeException("x".repeat(999 - prefix.length()) + "\ud83d\ude00")))
                .hasSize(999);
    }

    @Test
    void anErrorThatCausesItselfIsToldToo() {
        Exception one = new RuntimeException("one");
        one.initCause(new RuntimeException("other", one));

        assertThat(ErrorSummary.of(one)).contains("one", "other");
    }
}
