package io.github.holdfast.sharding;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.sharding.History.Hold;
import org.junit.jupiter.api.Test;

/** The checker notices what it is for. */
class HistoryTest {

    private final History history = new History();

    private void add(String name, long token, long from, long until) {
        history.add(new Hold(name, "any", token, from, until));
    }

    @Test
    void holdsOneAfterTheOtherAreFine() {
        add("a", 2, 20, 30);
        add("a", 1, 10, 20);
        add("b", 1, 15, 25);
        history.check();
    }

    @Test
    void twoAtOnceAreNoticed() {
        add("a", 1, 10, 20);
        add("a", 2, 19, 30);
        assertThatExceptionOfType(AssertionError.class).isThrownBy(history::check);
    }

    @Test
    void aTokenThatDoesNotGrowIsNoticed() {
        add("a", 2, 10, 20);
        add("a", 2, 20, 30);
        assertThatExceptionOfType(AssertionError.class).isThrownBy(history::check);
    }
}
