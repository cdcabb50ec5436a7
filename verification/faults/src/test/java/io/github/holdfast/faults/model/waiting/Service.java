package io.github.holdfast.faults.model.waiting;

import java.util.ArrayList;
import java.util.List;

/**
 * A process with some threads.
 *
 * @param isMarked whether the database shows that it waits, so that its tickets count
 * @param isNoticed whether it relies on rings: it has been marked for so long that releases of other services see it
 * @param releases whether its releases ask who is next
 * @param isRung whether its listener was rung, and has not acted on that
 * @param background what it does in the background, one after another
 */
record Service(
        boolean isAlive,
        boolean isMarked,
        boolean isNoticed,
        Releases releases,
        boolean isRung,
        List<Task> background) {

    static final Service STARTED = new Service(true, false, false, Releases.ASK, false, List.of());

    enum Releases {
        ASK,
        /** It has read that no other service waits, and does not know the answer yet. */
        ABOUT_NOT_TO_ASK,
        DO_NOT_ASK
    }

    /**
     * Work in the background.
     *
     * @param about the rank of a ticket, or a service
     */
    record Task(What what, int about) {}

    enum What {
        REMOVE_TICKET,
        /** A ticket that no thread has was found first in the queue. */
        REMOVE_STRAY,
        WAKE_OWN,
        RING,
        RING_NEXT,
        /** Stray tickets are to be removed if still nobody waits. */
        CHECK_STRAY,
        REMOVE_ALL,
        AFTER_REMOVAL
    }

    Service marked() {
        return isMarked ? this : new Service(isAlive, true, false, releases, isRung, background);
    }

    Service unmarked() {
        return new Service(isAlive, false, false, releases, isRung, background);
    }

    Service noticed() {
        return new Service(isAlive, isMarked, true, releases, isRung, background);
    }

    Service releasing(Releases next) {
        return new Service(isAlive, isMarked, isNoticed, next, isRung, background);
    }

    Service rung() {
        return new Service(isAlive, isMarked, isNoticed, releases, true, background);
    }

    Service quiet() {
        return new Service(isAlive, isMarked, isNoticed, releases, false, background);
    }

    Service crashed() {
        return new Service(false, isMarked, isNoticed, Releases.ASK, false, List.of());
    }

    Service later(What what, int about) {
        Task task = new Task(what, about);
        if (background.contains(task)) {
            return this;
        }
        List<Task> more = new ArrayList<>(background);
        more.add(task);
        return with(more);
    }

    Service withoutFirstTask() {
        return with(background.subList(1, background.size()));
    }

    Service with(List<Task> tasks) {
        return new Service(isAlive, isMarked, isNoticed, releases, isRung, List.copyOf(tasks));
    }
}
