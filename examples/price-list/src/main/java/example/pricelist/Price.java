package example.pricelist;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** A row of the price list. It has no version, so only the lock keeps the rows of two lists apart. */
@Entity
class Price {

    @Id
    private String item;

    private int edition;
    private int cents;

    @SuppressWarnings("NullAway.Init")
    protected Price() {}

    Price(String item, int edition, int cents) {
        this.item = item;
        this.edition = edition;
        this.cents = cents;
    }

    String item() {
        return item;
    }

    /** Returns the number of the list that the price is from. */
    int edition() {
        return edition;
    }

    int cents() {
        return cents;
    }

    @Override
    public String toString() {
        return "%s;%d;%d".formatted(item, edition, cents);
    }
}
