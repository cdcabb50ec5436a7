package example.pricelist;

import static example.pricelist.PriceListExample.CUSTOMERS;
import static example.pricelist.PriceListExample.EDITIONS;

import io.github.holdfast.lock.LockLostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Replaces the price list while customers order. */
final class Replacements {

    static final String TOO_SLOW = "Eve";

    private static final String SLOW = "Bob";

    private final Shop north;
    private final Shop south;
    private final ExecutorService threads;

    Replacements(Shop north, Shop south, ExecutorService threads) {
        this.north = north;
        this.south = south;
        this.threads = threads;
    }

    /**
     * What customers have ordered.
     *
     * @param orders the number of orders
     * @param mixed the number of orders at prices of more than one list
     * @param late the number of orders that were stored after their prices had been replaced
     */
    record Crowd(int orders, long mixed, long late) {}

    /** Both shops take orders. A new list comes as soon as a customer has ordered from the one before. */
    Crowd amongCustomers() throws Exception {
        north.replacePrices(1);
        BlockingQueue<PurchaseOrder> placed = new LinkedBlockingQueue<>();
        AtomicBoolean isOpen = new AtomicBoolean(true);
        List<Future<?>> customers = new ArrayList<>();
        for (int i = 0; i < CUSTOMERS; i++) {
            String customer = "customer-" + i;
            Shop shop = i % 2 == 0 ? north : south;
            customers.add(threads.submit(() -> {
                while (isOpen.get()) {
                    placed.add(shop.order(customer));
                }
            }));
        }
        Map<Integer, Long> ordersBefore = new TreeMap<>();
        try {
            for (int edition = 2; edition <= EDITIONS; edition++) {
                awaitOrderFrom(edition - 1, placed);
                ordersBefore.put(edition, (edition % 2 == 0 ? north : south).replacePrices(edition));
            }
            awaitOrderFrom(EDITIONS, placed);
        } finally {
            isOpen.set(false);
        }
        for (Future<?> customer : customers) {
            customer.get();
        }
        List<PurchaseOrder> orders = north.orders();
        long late = ordersBefore.entrySet().stream()
                .mapToLong(counted -> north.ordersBefore(counted.getKey()) - counted.getValue())
                .sum();
        return new Crowd(
                orders.size(), orders.stream().filter(PurchaseOrder::isMixed).count(), late);
    }

    private static void awaitOrderFrom(int edition, BlockingQueue<PurchaseOrder> placed) throws InterruptedException {
        PurchaseOrder order;
        do {
            order = placed.poll(Pause.LONGEST_SECONDS, TimeUnit.SECONDS);
            if (order == null) {
                throw new IllegalStateException("No customer has ordered from list " + edition);
            }
        } while (order.newestEdition() < edition);
    }

    /**
     * What happened to an order while a new list waited for it.
     *
     * @param hasKeptWriterWaiting whether the list was not replaced before the order had gone on
     * @param order the order
     * @param late how many orders at the old prices were stored after these had been replaced
     */
    record Punctual(boolean hasKeptWriterWaiting, PurchaseOrder order, long late) {}

    /** A new list comes when an order has read its prices, and has not committed yet. */
    Punctual duringAnOrder() throws Exception {
        int edition = EDITIONS + 1;
        Pause priced = pauseOrderOf(SLOW, north);
        try {
            Future<PurchaseOrder> ordering = threads.submit(() -> north.order(SLOW));
            priced.awaitReached();
            Future<Long> replacing = threads.submit(() -> south.replacePrices(edition));
            Conditions.await("a writer that waits", () -> south.waitingFor(PriceList.LOCK) == 1 || replacing.isDone());
            boolean hasKeptWriterWaiting = !replacing.isDone();
            priced.end();
            PurchaseOrder order = ordering.get();
            long ordersBefore = replacing.get();
            return new Punctual(hasKeptWriterWaiting, order, north.ordersBefore(edition) - ordersBefore);
        } finally {
            priced.end();
        }
    }

    /**
     * An order takes longer than its lease, and a new list comes before it commits. A shop that was frozen for too long would be
     * too slow in the same way.
     *
     * @return why the order was refused; empty if it was not
     */
    Optional<LockLostException> duringAnOrderThatIsTooSlow(Shop hasty) throws Exception {
        Pause priced = pauseOrderOf(TOO_SLOW, hasty);
        try {
            Future<PurchaseOrder> ordering = threads.submit(() -> hasty.order(TOO_SLOW));
            priced.awaitReached();
            south.replacePrices(EDITIONS + 2);
            priced.end();
            ordering.get();
            return Optional.empty();
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof LockLostException lost) {
                return Optional.of(lost);
            }
            throw failed;
        } finally {
            priced.end();
        }
    }

    private static Pause pauseOrderOf(String customer, Shop shop) {
        Pause pause = new Pause();
        shop.onPriced(priced -> {
            if (priced.customer().equals(customer)) {
                pause.stop();
            }
        });
        return pause;
    }
}
