package example.quickstart;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The sale of one item, with the fencing token of its lock. */
@Entity
class Sale {

    /** The database numbers the sales in their order. */
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private @Nullable Long id;

    private String worker;

    @Column(name = "fencing_token")
    private @Nullable Long fencingToken;

    @Column(name = "waited_millis")
    private long waitedMillis;

    /** For the persistence provider. */
    @SuppressWarnings("NullAway.Init")
    protected Sale() {}

    Sale(String worker, @Nullable Long fencingToken, Duration waited) {
        this.worker = worker;
        this.fencingToken = fencingToken;
        this.waitedMillis = waited.toMillis();
    }

    String worker() {
        return worker;
    }

    /** Returns the fencing token; null for a sale without a lock. */
    @Nullable
    Long fencingToken() {
        return fencingToken;
    }

    long waitedMillis() {
        return waitedMillis;
    }
}
