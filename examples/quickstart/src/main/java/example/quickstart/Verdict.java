package example.quickstart;

import java.util.List;
import java.util.function.Function;

/** The comparison of the two runs. */
record Verdict(List<String> workers, Books without, Books with) {

    /** Whether the run under the lock was correct. The run without a lock goes wrong only by chance, so it does not count. */
    boolean isGood() {
        return with.areRight();
    }

    void print() {
        System.out.println();
        row("", "without a lock", "with Holdfast");
        row("lamps in stock", Books::stockedUp);
        row("sold", Books::sold);
        row("left, says the stock", Books::left);
        row("oversold by", Books::oversold);
        row("fencing tokens strictly rising", "-", with.tokensRise() ? "yes" : "NO");
        System.out.println();
        for (String worker : workers) {
            row(worker + ": sales", books -> books.soldBy(worker));
            row(worker + ": longest wait", "-", with.longestWaitMillis(worker) + " ms");
        }
        System.out.println();
        System.out.println("Without a lock: " + withoutLock());
        System.out.println("With Holdfast:  " + withHoldfast());
    }

    private String withoutLock() {
        return without.oversold() > 0
                ? "%d lamps were sold that were not in stock.".formatted(without.oversold())
                : "no lamp was oversold this time, by luck.";
    }

    private String withHoldfast() {
        return with.areRight()
                ? "exactly %d lamps were sold, one after the other.".formatted(with.sold())
                : "FAILED. Of %d lamps %d were sold and %d left; tokens rising: %s."
                        .formatted(with.stockedUp(), with.sold(), with.left(), with.tokensRise());
    }

    private void row(String what, Function<Books, Object> cell) {
        row(what, cell.apply(without), cell.apply(with));
    }

    private static void row(String what, Object without, Object with) {
        System.out.printf("  %-32s%16s%16s%n", what, without, with);
    }
}
