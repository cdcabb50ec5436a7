package io.github.holdfast.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HistoryTest {

    private static final Facts STRANGE = Facts.of("a name, with = signs\tand ä")
            .owner("-")
            .node("")
            .grant(1_700_000_000_000_000L, 42)
            .holds(2)
            .databaseMicros(1_700_000_000_000_001L)
            .validUntil(Long.MAX_VALUE)
            .value(7);

    @Test
    void aLineIsReadAsItWasWritten() {
        Event strange = new Event(3, 2, Action.ACQUIRE, Phase.OK, 123, -456, STRANGE);
        Event bare = new Event(4, 0, Action.CALM, Phase.INVOKE, 5, 6, Facts.of(Facts.ALL));
        assertThat(Event.parse(strange.line())).isEqualTo(strange);
        assertThat(Event.parse(bare.line())).isEqualTo(bare);
    }

    @Test
    void aHistoryIsReadAsItWasWrittenInTheOrderOfTime(@TempDir Path directory) throws IOException {
        Event first = new Event(1, 1, Action.ACQUIRE, Phase.INVOKE, 10, 0, Facts.of("a"));
        Event second = new Event(1, 1, Action.ACQUIRE, Phase.REFUSED, 20, 0, STRANGE);
        Path file = directory.resolve("runs").resolve("history.txt");
        new History(List.of(second, first)).write(file);
        assertThat(History.read(file).events()).containsExactly(first, second);
    }

    @Test
    void whatIsNoEventIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> Event.parse("something else"));
        assertThatIllegalArgumentException().isThrownBy(() -> Event.parse("1 2 3 4 ACQUIRE OK - - - 1 1 1 1 1 1"));
        assertThatIllegalArgumentException().isThrownBy(() -> Event.parse("1 2 3 4 BORROW OK a - - 1 1 1 1 1 1"));
    }

    @Test
    void anOperationThatEndsAtOnceBeginsBeforeItEnds() {
        Event end = new Event(1, 1, Action.LOOK, Phase.OK, 10, 0, Facts.of("a"));
        Event begin = new Event(1, 1, Action.LOOK, Phase.INVOKE, 10, 0, Facts.of("a"));
        assertThat(new History(List.of(end, begin)).operations()).containsExactly(new Operation(begin, end));
    }
}
