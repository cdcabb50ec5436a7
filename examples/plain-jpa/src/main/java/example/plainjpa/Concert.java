package example.plainjpa;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** Seats that several nodes sell. Without a version: only the lock keeps two of them from selling the same one. */
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
