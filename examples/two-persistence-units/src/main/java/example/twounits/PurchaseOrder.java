package example.twounits;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** An order, in the database of the orders. */
@Entity
class PurchaseOrder {

    @Id
    private long id;

    protected PurchaseOrder() {}

    PurchaseOrder(long id) {
        this.id = id;
    }

    long id() {
        return id;
    }
}
