package example.flashsale;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** What all instances sell. Without a version: only the lock keeps two of them from selling the same one. */
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

    /** There is none left. */
    static final class SoldOutException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private SoldOutException(String item) {
            super("The " + item + " is sold out.");
        }
    }
}
