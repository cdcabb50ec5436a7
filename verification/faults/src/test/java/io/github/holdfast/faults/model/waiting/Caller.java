package io.github.holdfast.faults.model.waiting;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * A thread that acquires the lock.
 *
 * @param rank its place in the order of arrival; {@link #NO_RANK} if it has none
 * @param notes what is known about it
 * @param ahead the threads whose places were before its own when it read the row, as bits
 */
record Caller(Phase phase, int rank, Set<Note> notes, int ahead) {

    static final int NO_RANK = -1;

    static final Caller IDLE =
            new Caller(Phase.IDLE, NO_RANK, Collections.unmodifiableSet(EnumSet.noneOf(Note.class)), 0);

    static final Caller GONE = IDLE.in(Phase.GONE);

    enum Phase {
        IDLE,
        /** About to read the lock's row. */
        LOOKING,
        /** It has seen the row free, and is about to read the queue. */
        FREE_SEEN,
        /** Only where the queue is read first: it is its turn, and it is about to read the row. */
        TURN_SEEN,
        /** About to write the grant. */
        DECIDED,
        /** It cannot have the lock now. */
        TURNED_AWAY,
        /** Its ticket is on its way. */
        INSERTING,
        /** Sleeps no longer than a poll. */
        DOZING,
        /** Sleeps until it is woken. */
        SLEEPING,
        GRANTED,
        HOLDING,
        /** The row is free, and the waiters of the own service are not woken yet. */
        RELEASED,
        /** Its service has crashed. */
        GONE
    }

    enum Note {
        /** It is registered as a waiter, and has a ticket, which the database has or not. */
        TAKEN,
        /** The database has the ticket, as far as the thread knows. */
        VISIBLE,
        /** It has attempted since its ticket was visible. */
        ANNOUNCED,
        NOTIFIED,
        WOKEN,
        /** A notification has ended its last sleep, and the attempt after that is not finished. */
        TO_ATTEMPT,
        /** Somebody has written the row since it was read. */
        OVERTAKEN
    }

    boolean has(Note note) {
        return notes.contains(note);
    }

    boolean is(Phase expected) {
        return phase == expected;
    }

    boolean isWaiting() {
        return has(Note.TAKEN) && phase != Phase.GRANTED && phase != Phase.HOLDING && phase != Phase.RELEASED;
    }

    boolean believes() {
        return phase == Phase.GRANTED || phase == Phase.HOLDING;
    }

    Caller in(Phase next) {
        return new Caller(next, rank, notes, ahead);
    }

    Caller at(int place) {
        return new Caller(phase, place, notes, ahead);
    }

    Caller behind(int threads) {
        return new Caller(phase, rank, notes, threads);
    }

    Caller with(Note... more) {
        EnumSet<Note> changed = copy();
        for (Note note : more) {
            changed.add(note);
        }
        return new Caller(phase, rank, changed, ahead);
    }

    Caller without(Note... fewer) {
        EnumSet<Note> changed = copy();
        for (Note note : fewer) {
            changed.remove(note);
        }
        return new Caller(phase, rank, changed, ahead);
    }

    private EnumSet<Note> copy() {
        return notes.isEmpty() ? EnumSet.noneOf(Note.class) : EnumSet.copyOf(notes);
    }
}
