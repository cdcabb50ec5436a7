package example.tenants;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** An invoice. Each tenant has a table of its own, and numbers without gaps. */
@Entity
class Invoice {

    @Id
    private long number;

    protected Invoice() {}

    Invoice(long number) {
        this.number = number;
    }

    long number() {
        return number;
    }
}
