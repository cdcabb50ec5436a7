package io.github.holdfast.service.engine;

import io.github.holdfast.lock.ReleaseOutcome;
import java.util.Optional;

/** Decides who comes after a hold, when it is released. */
interface Succession {

    /** Nobody in particular: the permits of a semaphore are free for the first attempt. */
    Succession NOBODY = new Succession() {
        @Override
        public void expect(HandOffWaiter next) {
            throw new IllegalStateException("No thread waits for one particular holder of permits");
        }

        @Override
        public boolean hasBegun() {
            return false;
        }

        @Override
        public Optional<ReleaseOutcome> begin() {
            return Optional.empty();
        }

        @Override
        public Optional<ReleaseOutcome> beginWithoutNext() {
            return Optional.empty();
        }

        @Override
        public void expect(Successor next) {
            throw new IllegalStateException("The release of a share writes no grant");
        }

        @Override
        public void released() {}
    };

    /** Registers the calling thread as the next owner's. Only the first thread in the queue calls this. */
    void expect(HandOffWaiter next);

    /** Registers what the release writes in its place. No thread in the queue gets the lock then. */
    void expect(Successor next);

    /** Whether the release of the hold has begun. The release chooses only a thread that registered before. */
    boolean hasBegun();

    /**
     * Begins the release of the hold, and grants the lock to the waiting thread, if there is one.
     *
     * @return the outcome; empty if the caller must release the row, because nobody waits here, others are to get the lock, or
     *     the grant was not written
     */
    Optional<ReleaseOutcome> begin();

    /**
     * Begins a release without a hand-off: the first attempt gets the lock. If the lock is released for others, the threads in
     * the queue must know that before they attempt.
     *
     * @return always empty: the caller must release the row
     */
    Optional<ReleaseOutcome> beginWithoutNext();

    /** Notes that the row was released. */
    void released();
}
