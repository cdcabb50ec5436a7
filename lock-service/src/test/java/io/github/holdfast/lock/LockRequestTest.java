package io.github.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.holdfast.repository.ReadableDuration;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class LockRequestTest {

    private static final Duration NANO = Duration.ofNanos(1);
    private static final Duration LONGEST = Duration.ofDays(365);

    private final LockRequest plain = LockRequest.of("order:1001");

    /** A request in which everything differs from the defaults. */
    private final LockRequest full = plain.lease(Duration.ofSeconds(30))
            .waitAtMost(Duration.ofSeconds(5))
            .owner("checkout-42")
            .minimumHold(Duration.ofSeconds(2))
            .notReentrant();

    @Test
    void defaultsAreNoLeaseNoWaitAGeneratedOwnerAndReentry() {
        assertThat(plain.name()).isEqualTo("order:1001");
        assertThat(plain.lease()).isEmpty();
        assertThat(plain.waitTime()).isEmpty();
        assertThat(plain.owner()).isEmpty();
        assertThat(plain.minimumHold()).isEmpty();
        assertThat(plain.isReentrant()).isTrue();
        assertThat(LockRequest.DEFAULT_WAIT).isEqualTo(Duration.ofSeconds(10));
    }

    @Test
    void everythingThatWasAskedForIsThere() {
        assertThat(full.name()).isEqualTo("order:1001");
        assertThat(full.lease()).contains(Duration.ofSeconds(30));
        assertThat(full.waitTime()).contains(Duration.ofSeconds(5));
        assertThat(full.owner()).contains("checkout-42");
        assertThat(full.minimumHold()).contains(Duration.ofSeconds(2));
        assertThat(full.isReentrant()).isFalse();
    }

    @Test
    void eachMethodChangesOneThingInANewRequest() {
        String before = full.toString();

        assertThat(full.lease(Duration.ofSeconds(31)).toString()).isEqualTo(before.replace("PT30S", "PT31S"));
        assertThat(full.waitAtMost(Duration.ofSeconds(6)).toString()).isEqualTo(before.replace("PT5S", "PT6S"));
        assertThat(full.waitForever().toString()).isEqualTo(before.replace("PT5S", "PT8760H"));
        assertThat(full.owner("x").toString()).isEqualTo(before.replace("checkout-42", "x"));
        assertThat(full.minimumHold(Duration.ofSeconds(3)).toString()).isEqualTo(before.replace("PT2S", "PT3S"));
        assertThat(full.notReentrant().toString()).isEqualTo(before);
        assertThat(full.fair().toString()).isEqualTo(before.replace("order=NONE", "order=OF_ARRIVAL"));
        assertThat(full.toString()).isEqualTo(before);
    }

    @Test
    void requestsBuiltOnOneAnotherDoNotChangeTheirOrigin() {
        String before = plain.toString();

        assertThat(plain.lease(NANO.multipliedBy(1_000_000))).isNotSameAs(plain);
        assertThat(plain.waitAtMost(NANO)).isNotSameAs(plain);
        assertThat(plain.owner("x")).isNotSameAs(plain);
        assertThat(plain.minimumHold(NANO)).isNotSameAs(plain);
        assertThat(plain.notReentrant()).isNotSameAs(plain);
        assertThat(plain.toString()).isEqualTo(before);
    }

    @Test
    void leaseIsFromOneMillisecondToAYear() {
        assertThat(plain.lease(Duration.ofMillis(1)).lease()).contains(LockRequest.SHORTEST_LEASE);
        assertThat(plain.lease(LONGEST).lease()).contains(LockRequest.LONGEST_DURATION);

        for (Duration refused : new Duration[] {
            Duration.ofMillis(1).minus(NANO),
            Duration.ZERO,
            NANO.negated(),
            LONGEST.plus(NANO),
            Duration.ofSeconds(Long.MAX_VALUE, 999_999_999),
            Duration.ofSeconds(Long.MIN_VALUE)
        }) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> plain.lease(refused))
                    .withMessage("The lease must be from 1 ms to 365 d, but is " + new ReadableDuration(refused));
        }
    }

    @Test
    void waitTimeIsFromZeroToAYear() {
        assertThat(plain.waitAtMost(Duration.ZERO).waitTime()).contains(Duration.ZERO);
        assertThat(plain.waitAtMost(LONGEST).waitTime()).contains(LONGEST);

        for (Duration refused :
                new Duration[] {NANO.negated(), LONGEST.plus(NANO), Duration.ofSeconds(Long.MAX_VALUE)}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> plain.waitAtMost(refused))
                    .withMessage("The wait time must be from 0 s to 365 d, but is " + new ReadableDuration(refused));
        }
    }

    @Test
    void waitingForeverIsWaitingForAYear() {
        assertThat(plain.waitForever().waitTime()).contains(LONGEST);
    }

    @Test
    void minimumHoldIsFromZeroWhichIsNoneToAYear() {
        assertThat(full.minimumHold(Duration.ZERO).minimumHold()).isEmpty();
        assertThat(plain.minimumHold(NANO).minimumHold()).contains(NANO);
        assertThat(plain.minimumHold(LONGEST).minimumHold()).contains(LONGEST);

        for (Duration refused : new Duration[] {NANO.negated(), LONGEST.plus(NANO)}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> plain.minimumHold(refused))
                    .withMessage("The minimum hold must be from 0 s to 365 d, but is " + new ReadableDuration(refused));
        }
    }

    @Test
    void nameHasOneTo255Characters() {
        assertThat(LockRequest.of("x").name()).isEqualTo("x");
        assertThat(LockRequest.of("x".repeat(255)).name()).hasSize(255);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockRequest.of(""))
                .withMessage("The name '' must have 1 to 255 characters, but has 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockRequest.of("x".repeat(256)))
                .withMessageContaining("'" + "x".repeat(256) + "'")
                .withMessageEndingWith("must have 1 to 255 characters, but has 256");
    }

    @Test
    void ownerHasOneTo128Characters() {
        assertThat(plain.owner("x").owner()).contains("x");
        assertThat(plain.owner("x".repeat(128)).owner()).contains("x".repeat(128));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> plain.owner(""))
                .withMessage("The owner '' must have 1 to 128 characters, but has 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> plain.owner("x".repeat(129)))
                .withMessageContaining("'" + "x".repeat(129) + "'")
                .withMessageEndingWith("must have 1 to 128 characters, but has 129");
    }

    @Test
    void ownerIsCheckedAsANameIs() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> plain.owner("checkout "))
                .withMessage("The owner 'checkout ' must not begin or end with white space");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> plain.owner("check\tout"))
                .withMessageStartingWith("The owner 'check\\u0009out' must not contain control characters");
    }
}
