package io.github.holdfast.faults.model;

import java.util.ArrayList;
import java.util.List;

/**
 * The steps that lead out of a state.
 *
 * @param <S> a state
 */
public final class Steps<S> {

    /** No particular service takes it. */
    public static final int NOBODY = -1;

    /** Who or what makes it happen that a step is taken. */
    public enum Cause {
        /** The program: it is taken at once. */
        PROGRAM,
        /** Time that passes. */
        TIME,
        /** A user, who may as well not take it. */
        USER,
        /** A fault: nobody can rely on its being taken. */
        FAULT
    }

    /**
     * One step.
     *
     * @param what for people
     * @param who which service or thread takes it, for people
     * @param to where it leads
     */
    public record Step<S>(String what, String who, Cause cause, S to) {

        public boolean isFault() {
            return cause == Cause.FAULT;
        }

        @Override
        public String toString() {
            return who.isEmpty() ? what : who + " " + what;
        }
    }

    private final List<Step<S>> steps = new ArrayList<>();

    void add(String what, int service, S to) {
        add(what, name(service), Cause.PROGRAM, to);
    }

    void addFault(String what, int service, S to) {
        add(what, name(service), Cause.FAULT, to);
    }

    private static String name(int service) {
        return service == NOBODY ? "" : "service " + service;
    }

    /** Adds a step. */
    public void add(String what, String who, Cause cause, S to) {
        steps.add(new Step<>(what, who, cause, to));
    }

    /** Returns what was added. */
    public List<Step<S>> list() {
        return steps;
    }
}
