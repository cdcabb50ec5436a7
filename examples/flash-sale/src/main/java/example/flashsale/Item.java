package example.flashsale;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/**
 * An item in the stock of all instances. It has no version, so only the lock prevents two instances from selling the same piece.
 */
@Entity
class Item {

    @Id
    private String name;

    private int stock;

    @SuppressWarnings("NullAway.Init")
    protected Item() {}

    Item(String name, int stock) {
        this.name = name;
        this.stock = stock;
    }

    String name() {
        return name;
    }

    int stock() {
        return stock;
    }

    void takeOne() {
        if (stock == 0) {
            throw new SoldOutException(name);
        }
        stock--;
    }

    /** Thrown if the stock is empty. */
    static final class SoldOutException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private SoldOutException(String item) {
            super("The " + item + " is sold out.");
        }
    }
}
