package io.github.holdfast.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/** A history made by hand. Times are in seconds; the lock is {@code a} unless it is said otherwise. */
final class Recording {

    static final long SECOND = 1_000_000_000;

    private final List<Event> events = new ArrayList<>();
    private String name = "a";
    private long operations;

    Recording of(String otherName) {
        name = otherName;
        return this;
    }

    Recording add(int worker, Action action, Phase outcome, double from, double to, UnaryOperator<Facts> facts) {
        long operation = ++operations;
        Facts known = facts.apply(Facts.of(name));
        events.add(event(operation, worker, action, Phase.INVOKE, from, known));
        events.add(event(operation, worker, action, outcome, to, known));
        return this;
    }

    private static Event event(long operation, int worker, Action action, Phase phase, double at, Facts facts) {
        return new Event(operation, worker, action, phase, nanos(at), (long) (at * 1000), facts);
    }

    static long nanos(double seconds) {
        return (long) (seconds * SECOND);
    }

    Recording neverEnds(int worker, Action action, double from, UnaryOperator<Facts> facts) {
        events.add(event(++operations, worker, action, Phase.INVOKE, from, facts.apply(Facts.of(name))));
        return this;
    }

    /** A grant of the token, whose version is ten times that, with a belief until then. */
    Recording acquired(int worker, long token, double from, double to, double validUntil) {
        return add(
                worker,
                Action.ACQUIRE,
                Phase.OK,
                from,
                to,
                facts -> facts.owner("owner-" + token)
                        .grant(10 * token, token)
                        .holds(1)
                        .validUntil(nanos(validUntil)));
    }

    Recording reentered(int worker, long token, double at) {
        return add(worker, Action.REENTER, Phase.OK, at, at, facts -> facts.token(token));
    }

    Recording valid(int worker, long token, double at, double validUntil) {
        return add(
                worker,
                Action.LOOK,
                Phase.OK,
                at,
                at,
                facts -> facts.token(token).validUntil(nanos(validUntil)));
    }

    Recording lost(int worker, long token, double at) {
        return add(worker, Action.LOOK, Phase.FAIL, at, at, facts -> facts.token(token));
    }

    Recording released(int worker, long token, double at, long left) {
        return add(
                worker,
                Action.RELEASE,
                Phase.OK,
                at,
                at + 0.1,
                facts -> facts.token(token).holds(left));
    }

    /** A share from then, with a belief until then. */
    Recording shared(int worker, long id, double from, double validUntil) {
        return add(
                worker,
                Action.SHARE,
                Phase.OK,
                from,
                from,
                facts -> facts.token(id).validUntil(nanos(validUntil)));
    }

    /** A share with the row of that owner, which those who join it have too. */
    Recording sharedBy(String owner, int worker, long id, double from, double validUntil) {
        return add(
                worker,
                Action.SHARE,
                Phase.OK,
                from,
                from,
                facts -> facts.owner(owner).token(id).validUntil(nanos(validUntil)));
    }

    Recording rowLocked(int worker, double from, double to, Phase release) {
        add(worker, Action.ROW_ACQUIRE, Phase.OK, from, from, facts -> facts);
        return add(worker, Action.ROW_RELEASE, release, to, to, facts -> facts);
    }

    Recording committed(int worker, long token, double at, long value) {
        return add(
                worker,
                Action.COMMIT,
                Phase.OK,
                at,
                at,
                facts -> facts.token(token).value(value));
    }

    Recording fault(Action action, double at) {
        return add(0, action, Phase.OK, at, at, facts -> facts);
    }

    /** The faults are over. */
    History calmAt(double at) {
        name = Facts.ALL;
        return fault(Action.CALM, at).history();
    }

    History history() {
        return new History(List.copyOf(events));
    }
}
