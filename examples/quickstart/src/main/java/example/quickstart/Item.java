package example.quickstart;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** An item in stock. It has no {@code @Version}, so only a lock prevents two sellers from counting down from the same number. */
@Entity
class Item {

    @Id
    private String name;

    private int stock;

    /** For the persistence provider. */
    @SuppressWarnings("NullAway.Init")
    protected Item() {}

    Item(String name, int stock) {
        this.name = name;
        this.stock = stock;
    }

    int stock() {
        return stock;
    }

    void sellOne() {
        stock = stock - 1;
    }
}
