package example.twounits;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** An old order, in the database of the archive. */
@Entity
class ArchivedOrder {

    @Id
    private long id;

    protected ArchivedOrder() {}

    ArchivedOrder(long id) {
        this.id = id;
    }

    long id() {
        return id;
    }
}
