package example.pricelist;

import io.github.holdfast.annotation.Limited;
import io.github.holdfast.annotation.Locked;
import io.github.holdfast.lock.LockMode;
import java.util.ArrayList;
import java.util.List;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Exports the price list. An export is expensive, so all instances together run only a few at once. */
@Service
class Exports {

    /** The semaphore. */
    static final String PERMITS = "exports";

    private static final Pageable FIRST_PAGE = PageRequest.of(0, 2, Sort.by("item"));

    private final PriceRepository prices;
    private final ApplicationEventPublisher events;

    Exports(PriceRepository prices, ApplicationEventPublisher events) {
        this.prices = prices;
        this.events = events;
    }

    /**
     * Reads the price list page by page. A call that waits for its turn does not have the lock yet, and keeps no writer waiting.
     *
     * @return a line for each price, all from one list
     * @throws io.github.holdfast.lock.LockNotAcquiredException if others exported, or replaced the prices, for too long
     */
    @Limited(name = PERMITS, limit = "${shop.exports-at-once}", waitAtMost = "${shop.patience}")
    @Locked(name = PriceList.LOCK, mode = LockMode.SHARED, waitAtMost = "${shop.patience}")
    @Transactional(readOnly = true)
    List<String> export() {
        List<String> lines = new ArrayList<>();
        Pageable next = FIRST_PAGE;
        while (next.isPaged()) {
            Slice<Price> page = prices.findAllBy(next);
            page.forEach(price -> lines.add(price.toString()));
            events.publishEvent(new PageExported(page.getNumber(), page.isLast()));
            next = page.nextPageable();
        }
        return lines;
    }
}
