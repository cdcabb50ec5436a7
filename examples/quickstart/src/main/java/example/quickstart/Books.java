package example.quickstart;

import java.util.List;
import java.util.Objects;
import java.util.stream.LongStream;

/**
 * The result of a run, according to the tables.
 *
 * @param stockedUp the number of lamps at the beginning
 * @param left the number of lamps at the end, according to the stock
 * @param sales the sales, in their order
 */
record Books(int stockedUp, int left, List<Sale> sales) {

    int sold() {
        return sales.size();
    }

    int oversold() {
        return Math.max(0, sold() - stockedUp);
    }

    long soldBy(String worker) {
        return sales.stream().filter(sale -> sale.worker().equals(worker)).count();
    }

    long longestWaitMillis(String worker) {
        return sales.stream()
                .filter(sale -> sale.worker().equals(worker))
                .mapToLong(Sale::waitedMillis)
                .max()
                .orElse(0);
    }

    /** Returns the fencing tokens of the sales under a lock, in the order of the sales. */
    List<Long> tokens() {
        return sales.stream().map(Sale::fencingToken).filter(Objects::nonNull).toList();
    }

    /** Whether every sale has a token, and each token is greater than the previous one. */
    boolean tokensRise() {
        List<Long> tokens = tokens();
        return tokens.size() == sold()
                && LongStream.range(1, tokens.size()).allMatch(i -> tokens.get((int) i - 1) < tokens.get((int) i));
    }

    /** Whether the sales match the stock exactly, one after the other. */
    boolean areRight() {
        return sold() == stockedUp && left == 0 && tokensRise();
    }
}
