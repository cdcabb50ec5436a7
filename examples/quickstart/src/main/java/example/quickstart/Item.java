package example.quickstart;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** Something in stock. There is no {@code @Version}: nothing but a lock keeps two sellers from counting from the same number. */
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
