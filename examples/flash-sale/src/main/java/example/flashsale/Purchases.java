package example.flashsale;

import io.github.holdfast.annotation.Locked;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Sells. The lock is held from before the transaction until after its commit, which only happens if it is still held then. */
@Service
class Purchases {

    private final ItemRepository items;
    private final ReceiptRepository receipts;
    private final ApplicationEventPublisher events;

    Purchases(ItemRepository items, ReceiptRepository receipts, ApplicationEventPublisher events) {
        this.items = items;
        this.receipts = receipts;
        this.events = events;
    }

    /**
     * Sells one item.
     *
     * @throws Item.SoldOutException if there is none left
     * @throws io.github.holdfast.lock.LockNotAcquiredException if others were being served for too long
     * @throws io.github.holdfast.lock.LockLostException if the lock was lost before the commit; nothing is sold then
     */
    @Locked(name = "item:{#item}", waitAtMost = "${shop.patience}", fence = Locked.Fence.REQUIRED)
    @Transactional
    void buy(String item, String customer) {
        items.findById(item).orElseThrow().takeOne();
        receipts.save(new Receipt(item, customer));
        events.publishEvent(new Purchased(item, customer));
    }
}
