package example.plainjpa;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/**
 * A concert whose seats several nodes sell. It has no version, so only the lock prevents two nodes from selling the same seat.
 */
@Entity
class Concert {

    @Id
    private String title;

    private int seatsLeft;

    @SuppressWarnings("NullAway.Init")
    protected Concert() {}

    Concert(String title, int seatsLeft) {
        this.title = title;
        this.seatsLeft = seatsLeft;
    }

    String title() {
        return title;
    }

    int seatsLeft() {
        return seatsLeft;
    }

    void sellOne() {
        if (seatsLeft == 0) {
            throw new IllegalStateException(title + " is sold out");
        }
        seatsLeft--;
    }
}
