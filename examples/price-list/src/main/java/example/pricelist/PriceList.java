package example.pricelist;

import io.github.holdfast.annotation.Locked;
import java.util.List;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** The price list, which one writer at a time replaces. No reader reads it meanwhile. */
@Service
class PriceList {

    /** The lock. Readers share it. */
    static final String LOCK = "prices";

    private final PriceRepository prices;
    private final OrderRepository orders;

    PriceList(PriceRepository prices, OrderRepository orders) {
        this.prices = prices;
        this.orders = orders;
    }

    /**
     * Replaces all prices. It waits until every order that has read the old ones has ended.
     *
     * @param edition the number of the new list
     * @return the number of orders at older prices. There will be no more of them
     * @throws io.github.holdfast.lock.LockNotAcquiredException if others read the list for too long
     * @throws io.github.holdfast.lock.LockLostException if the lock was lost before the commit; the old prices stay then
     */
    @Locked(name = LOCK, waitAtMost = "${shop.patience}", fence = Locked.Fence.REQUIRED)
    @Transactional
    long replace(int edition, List<Price> list) {
        long atOlderPrices = orders.countByNewestEditionLessThan(edition);
        prices.deleteAllInBatch();
        prices.saveAll(list);
        return atOlderPrices;
    }
}
