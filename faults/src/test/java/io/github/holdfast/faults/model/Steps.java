package io.github.holdfast.faults.model;

import java.util.ArrayList;
import java.util.List;

/** The steps that lead out of a state. */
final class Steps {

    /** No particular service takes it. */
    static final int NOBODY = -1;

    /**
     * One step.
     *
     * @param what for people
     * @param service which one takes it, or {@link #NOBODY}
     * @param isFault whether nobody can rely on its being taken
     * @param to where it leads
     */
    record Step(String what, int service, boolean isFault, State to) {
        @Override
        public String toString() {
            return service == NOBODY ? what : "service " + service + " " + what;
        }
    }

    private final List<Step> steps = new ArrayList<>();

    void add(String what, int service, State to) {
        steps.add(new Step(what, service, false, to));
    }

    void addFault(String what, int service, State to) {
        steps.add(new Step(what, service, true, to));
    }

    List<Step> list() {
        return steps;
    }
}
