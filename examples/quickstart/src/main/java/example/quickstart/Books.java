package example.quickstart;

import java.util.List;
import java.util.Objects;
import java.util.stream.LongStream;

/**
 * What the tables say of a run.
 *
 * @param stockedUp how many lamps there were in the beginning
 * @param left how many are left, according to the stock
 * @param sales in the order in which they were made
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

    /** The fencing tokens of the sales that were made under a lock, in the order of the sales. */
    List<Long> tokens() {
        return sales.stream().map(Sale::fencingToken).filter(Objects::nonNull).toList();
    }

    /** Whether every sale has a token, greater than that of the sale before. */
    boolean tokensRise() {
        List<Long> tokens = tokens();
        return tokens.size() == sold()
                && LongStream.range(1, tokens.size()).allMatch(i -> tokens.get((int) i - 1) < tokens.get((int) i));
    }

    /** Whether exactly what there was has been sold, one after the other. */
    boolean areRight() {
        return sold() == stockedUp && left == 0 && tokensRise();
    }
}
