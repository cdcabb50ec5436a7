package example.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class BooksTest {

    @Test
    void areRightWhenAllWasSoldWithRisingTokens() {
        assertThat(books(3, 0, 7L, 8L, 12L).areRight()).isTrue();
    }

    @Test
    void areWrongWhenMoreWasSoldThanThereWas() {
        Books books = books(2, 0, 7L, 8L, 12L);

        assertThat(books.areRight()).isFalse();
        assertThat(books.oversold()).isEqualTo(1);
    }

    @Test
    void areWrongWhenSomethingIsLeft() {
        assertThat(books(3, 1, 7L, 8L, 12L).areRight()).isFalse();
        assertThat(books(4, 0, 7L, 8L, 12L).areRight()).isFalse();
    }

    @Test
    void areWrongWhenTokensDoNotRise() {
        assertThat(books(3, 0, 7L, 12L, 8L).areRight()).isFalse();
        assertThat(books(3, 0, 7L, 7L, 8L).areRight()).isFalse();
    }

    @Test
    void areWrongWhenASaleHasNoToken() {
        assertThat(books(3, 0, 7L, null, 8L).areRight()).isFalse();
    }

    @Test
    void verdictDependsOnTheRunUnderTheLockAlone() {
        Books right = books(2, 0, 1L, 2L);
        Books oversold = books(1, 0, null, null);

        assertThat(new Verdict(List.of("worker"), oversold, right).isGood()).isTrue();
        assertThat(new Verdict(List.of("worker"), right, right).isGood()).isTrue();
        assertThat(new Verdict(List.of("worker"), right, oversold).isGood()).isFalse();
    }

    private static Books books(int stockedUp, int left, @Nullable Long... tokens) {
        List<Sale> sales = Stream.of(tokens)
                .map(token -> new Sale("worker", token, Duration.ZERO))
                .toList();
        return new Books(stockedUp, left, sales);
    }
}
