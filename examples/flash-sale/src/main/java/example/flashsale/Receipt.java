package example.flashsale;

import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import org.jspecify.annotations.Nullable;

/** The receipt of a customer for an item. */
@Entity
class Receipt {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private @Nullable Long id;

    private String item;
    private String customer;

    @SuppressWarnings("NullAway.Init")
    protected Receipt() {}

    Receipt(String item, String customer) {
        this.item = item;
        this.customer = customer;
    }

    @Nullable
    Long id() {
        return id;
    }

    String item() {
        return item;
    }

    String customer() {
        return customer;
    }
}
