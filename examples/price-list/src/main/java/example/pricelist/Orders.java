package example.pricelist;

import io.github.holdfast.annotation.Locked;
import io.github.holdfast.lock.LockMode;
import java.util.ArrayList;
import java.util.List;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Takes orders. Many customers share the price list. It stays as it is until their orders have committed. */
@Service
class Orders {

    private final PriceRepository prices;
    private final OrderRepository orders;
    private final ApplicationEventPublisher events;

    Orders(PriceRepository prices, OrderRepository orders, ApplicationEventPublisher events) {
        this.prices = prices;
        this.orders = orders;
        this.events = events;
    }

    /**
     * Orders one piece of each item.
     *
     * @return the order, at prices of one list
     * @throws io.github.holdfast.lock.LockNotAcquiredException if the prices were being replaced for too long
     * @throws io.github.holdfast.lock.LockLostException if the order took longer than its lease, and the prices were replaced
     *     meanwhile; nothing is ordered then
     */
    @Locked(
            name = PriceList.LOCK,
            mode = LockMode.SHARED,
            lease = "${shop.order-lease}",
            waitAtMost = "${shop.patience}",
            fence = Locked.Fence.REQUIRED)
    @Transactional
    PurchaseOrder place(String customer, List<String> items) {
        List<Price> read = new ArrayList<>();
        for (String item : items) {
            read.add(prices.findById(item).orElseThrow());
        }
        events.publishEvent(new Priced(customer));
        return orders.save(new PurchaseOrder(customer, read));
    }
}
