package io.github.holdfast.entity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LockNamesTest {

    /** Two UTF-16 code units, one character for people. */
    private static final String LOCK_EMOJI = "\uD83D\uDD12";

    private static String checked(String name) {
        return LockNames.checked("name", name, 255);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "order:1001",
                "a b",
                "a  b",
                "caf\u00e9",
                "cafe\u0301",
                "\u65e5\u672c\u8a9e",
                "'; drop table distributed_lock; --",
                "%_\\\"`$?{}",
                "a\u00a0b",
                "a\u3000b",
                "a\u2028b",
                "a\u200bb",
                "\u200bzero width at the ends\u200b",
                "\ufeffbyte order mark",
                "a\u200db",
                "\u202eright to left",
                "\uffff"
            })
    void nameIsKeptAsItIs(String name) {
        assertThat(checked(name)).isSameAs(name);
    }

    @Test
    void emojiCountsAsTwoCharacters() {
        assertThat(checked(LOCK_EMOJI)).isEqualTo(LOCK_EMOJI);
        assertThat(checked(LOCK_EMOJI.repeat(127) + "x")).hasSize(255);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> checked(LOCK_EMOJI.repeat(128)))
                .withMessageContaining(LOCK_EMOJI.repeat(128))
                .withMessageEndingWith("must have 1 to 255 characters, but has 256");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockNames.checked("owner", LOCK_EMOJI, 1))
                .withMessageEndingWith("must have 1 to 1 characters, but has 2");
    }

    @ParameterizedTest
    @ValueSource(
            ints = {' ', '\t', '\n', '\r', '\f', 0x1c, 0xa0, 0x1680, 0x2007, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000})
    void neitherEndIsWhiteSpace(int space) {
        String blank = Character.toString(space);

        for (String name : new String[] {blank, blank + "x", "x" + blank, blank + LOCK_EMOJI + blank}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> checked(name))
                    .withMessageStartingWith("The name '")
                    .withMessageEndingWith("' must not begin or end with white space");
        }
    }

    @Test
    void noControlCharacterIsAllowedAnywhere() {
        IntStream.concat(IntStream.rangeClosed(0x00, 0x1f), IntStream.rangeClosed(0x7f, 0x9f))
                .forEach(control -> assertThatIllegalArgumentException()
                        .isThrownBy(() -> checked("a" + Character.toString(control) + "b"))
                        .withMessage(
                                "The name 'a\\u%04X" + "b' must not contain control characters or broken surrogate"
                                        + " pairs, but has U+%04X",
                                control, control));
    }

    @Test
    void nulIsRefusedAtTheEndsToo() {
        for (String name : new String[] {"\0", "\0x", "x\0"}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> checked(name))
                    .withMessageContaining("\\u0000")
                    .withMessageEndingWith("but has U+0000");
        }
    }

    @Test
    void halfASurrogatePairIsRefusedWhereverItIs() {
        for (String half : new String[] {"\uD83D", "\uDD12"}) {
            for (String name : new String[] {half, half + "x", "x" + half, "x" + half + "x", LOCK_EMOJI + half + "x"}) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> checked(name))
                        .withMessageContaining("broken surrogate pairs")
                        .withMessageEndingWith("but has U+%04X", (int) half.charAt(0))
                        .satisfies(thrown -> assertThat(thrown.getMessage()).doesNotContain(half + "x"));
            }
        }
        assertThatIllegalArgumentException().isThrownBy(() -> checked("\uDD12\uD83D"));
    }

    @Test
    void messageShowsNoMoreThan300CharactersOfTheName() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> checked("x".repeat(1_000_000)))
                .withMessage("The name '" + "x".repeat(300) + "' must have 1 to 255 characters, but has 1000000");
    }
}
