package io.github.holdfast.service;

import java.util.Locale;
import java.util.Objects;

/**
 * Selects the held locks that {@link LockAdmin#held(LockFilter, String, int)} returns. Immutable.
 *
 * @param name the prefix of their names, case-sensitive; the empty string for all
 * @param holder a part of a holder's description, owner or node id, case-insensitive (on PostgreSQL, only for ASCII letters); the empty
 *     string for all. A shared lock is returned with all its holders if one of them matches
 * @param state the state
 */
public record LockFilter(String name, String holder, State state) {

    /** The state of a held lock. */
    public enum State {
        /** Any. */
        ANY,

        /** One owner holds the lock exclusively. */
        ALONE,

        /** The lock is shared, by one holder or several. */
        SHARED,

        /** The heartbeat of a holder's node is overdue: its lease has expired, and no service has ended the node yet. */
        OVERDUE,

        /** A living node waits for the lock. */
        WAITED_FOR
    }

    /** The last char after which the databases' orders of strings, by bytes and by UTF-16, are the same. */
    private static final char LAST_BEFORE_SURROGATES = '\ud7fe';

    /** @throws NullPointerException if something is null */
    public LockFilter {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(holder, "holder");
        Objects.requireNonNull(state, "state");
    }

    /** Returns the filter that all held locks match. */
    public static LockFilter all() {
        return new LockFilter("", "", State.ANY);
    }

    /** Returns the same filter for names that begin like this. */
    public LockFilter named(String begin) {
        return new LockFilter(begin, holder, state);
    }

    /** Returns the same filter for holders with this text in their description, owner or node id. */
    public LockFilter heldBy(String part) {
        return new LockFilter(name, part, state);
    }

    /** Returns the same filter for locks in this state. */
    public LockFilter in(State wanted) {
        return new LockFilter(name, holder, wanted);
    }

    boolean isForAll() {
        return equals(all());
    }

    /** Returns the pattern of holders in lower case, for SQL with the escape character {@code !}. */
    String holderPattern() {
        String literal = holder.toLowerCase(Locale.ROOT)
                .replace("!", "!!")
                .replace("%", "!%")
                .replace("_", "!_");
        return holder.isEmpty() ? "%" : "%" + literal + "%";
    }

    /** Returns a string that is greater than all names that match, so that the database stops reading there; empty if there is none. */
    String end() {
        int length = name.length();
        while (length > 0 && name.charAt(length - 1) > LAST_BEFORE_SURROGATES) {
            length--;
        }
        return length == 0 ? "" : name.substring(0, length - 1) + (char) (name.charAt(length - 1) + 1);
    }
}
