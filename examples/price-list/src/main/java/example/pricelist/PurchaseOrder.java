package example.pricelist;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An order at the prices that it has read. */
@Entity
class PurchaseOrder {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private @Nullable Long id;

    private String customer;
    private int cents;
    private int oldestEdition;
    private int newestEdition;

    @SuppressWarnings("NullAway.Init")
    protected PurchaseOrder() {}

    /** Creates an order of one piece at each of these prices. */
    PurchaseOrder(String customer, List<Price> prices) {
        this.customer = customer;
        cents = prices.stream().mapToInt(Price::cents).sum();
        oldestEdition = prices.stream().mapToInt(Price::edition).min().orElseThrow();
        newestEdition = prices.stream().mapToInt(Price::edition).max().orElseThrow();
    }

    @Nullable
    Long id() {
        return id;
    }

    String customer() {
        return customer;
    }

    int cents() {
        return cents;
    }

    int newestEdition() {
        return newestEdition;
    }

    /** Returns whether the prices are from more than one list. */
    boolean isMixed() {
        return oldestEdition != newestEdition;
    }
}
