package example.pricelist;

import static example.pricelist.PriceListExample.EDITIONS;
import static example.pricelist.PriceListExample.EXPORTS_AT_ONCE;
import static example.pricelist.PriceListExample.PARTNERS;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** Many partners export the price list at once, from both shops, and a new list comes in the middle. */
final class ExportRush {

    private static final int EDITION = EDITIONS + 3;

    private final Shop north;
    private final Shop south;
    private final ExecutorService threads;
    private final AtomicInteger atWork = new AtomicInteger();
    private final AtomicInteger mostAtOnce = new AtomicInteger();
    private final Pause firstPage = new Pause();

    ExportRush(Shop north, Shop south, ExecutorService threads) {
        this.north = north;
        this.south = south;
        this.threads = threads;
    }

    /**
     * What the exports have read.
     *
     * @param mostAtOnce how many exports were at work at once, at most
     * @param files the lines of each export
     */
    record Result(int mostAtOnce, List<List<String>> files) {}

    /** The first exports stop after a page, until all others are at work too or wait, and so does the writer. */
    Result run() throws Exception {
        north.onPageExported(this::count);
        south.onPageExported(this::count);
        try {
            List<Future<List<String>>> exports = new ArrayList<>();
            for (int i = 0; i < PARTNERS; i++) {
                Shop shop = i % 2 == 0 ? north : south;
                exports.add(threads.submit(shop::export));
            }
            Conditions.await(
                    "a crowd of exports",
                    () -> atWork.get() >= EXPORTS_AT_ONCE && atWork.get() + waitingFor(Exports.PERMITS) == PARTNERS);
            Future<Long> replacing = threads.submit(() -> south.replacePrices(EDITION));
            Conditions.await("a writer that waits", () -> waitingFor(PriceList.LOCK) > 0 || replacing.isDone());
            firstPage.end();
            List<List<String>> files = new ArrayList<>();
            for (Future<List<String>> export : exports) {
                files.add(export.get());
            }
            replacing.get();
            return new Result(mostAtOnce.get(), files);
        } finally {
            firstPage.end();
        }
    }

    private long waitingFor(String name) {
        return north.waitingFor(name) + south.waitingFor(name);
    }

    private void count(PageExported page) {
        if (page.isFirst()) {
            mostAtOnce.accumulateAndGet(atWork.incrementAndGet(), Math::max);
            firstPage.stop();
        } else if (page.isLast()) {
            atWork.decrementAndGet();
        }
    }
}
