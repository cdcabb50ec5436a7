package example.pricelist;

import io.github.holdfast.service.LockAdmin;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.PayloadApplicationEvent;

/** One instance of the shop, as the example uses it. */
final class Shop {

    private static final Duration MOMENT = Duration.ofMillis(200);

    private final ConfigurableApplicationContext instance;

    Shop(ConfigurableApplicationContext instance) {
        this.instance = instance;
    }

    /** Replaces the price list. In each edition, all items have the same price. */
    long replacePrices(int edition) {
        List<Price> list = PriceListExample.ITEMS.stream()
                .map(item -> new Price(item, edition, 100 * edition))
                .toList();
        return instance.getBean(PriceList.class).replace(edition, list);
    }

    PurchaseOrder order(String customer) {
        return instance.getBean(Orders.class).place(customer, PriceListExample.ITEMS);
    }

    List<String> export() {
        return instance.getBean(Exports.class).export();
    }

    List<PurchaseOrder> orders() {
        return instance.getBean(OrderRepository.class).findAll();
    }

    long ordersOf(String customer) {
        return instance.getBean(OrderRepository.class).countByCustomer(customer);
    }

    long ordersBefore(int edition) {
        return instance.getBean(OrderRepository.class).countByNewestEditionLessThan(edition);
    }

    /** Returns how many threads of this instance wait for the lock or the permits of this name, and not only for the database. */
    long waitingFor(String name) {
        return instance.getBean(LockAdmin.class).waiters().stream()
                .filter(waiter -> waiter.name().equals(name))
                .filter(waiter -> waiter.waited().compareTo(MOMENT) > 0)
                .count();
    }

    /** Calls the listener when an order has read its prices, on the thread of the order. */
    void onPriced(Consumer<Priced> listener) {
        on(Priced.class, listener);
    }

    /** Calls the listener when an export has read a page, on the thread of the export. */
    void onPageExported(Consumer<PageExported> listener) {
        on(PageExported.class, listener);
    }

    private <T> void on(Class<T> type, Consumer<T> listener) {
        instance.addApplicationListener(event -> {
            if (event instanceof PayloadApplicationEvent<?> published && type.isInstance(published.getPayload())) {
                listener.accept(type.cast(published.getPayload()));
            }
        });
    }
}
