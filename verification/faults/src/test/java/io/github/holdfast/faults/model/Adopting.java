package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Hold.Stage;
import java.util.Objects;

/**
 * An earlier grant of this acquisition was done although it was not answered. It is adopted, not entered again. That its row is seen
 * does not mean that the standby has it: a further write that is answered does.
 */
record Adopting(Scenario scenario) {

    /**
     * The look shows the own row.
     *
     * @param resolved the same attempt, if the look tells enough
     */
    State mine(State s, int i, Attempt attempt, Attempt resolved) {
        return scenario.keeps(Rule.ADOPT_BY_A_WRITE)
                ? s.with(i, s.service(i).with(attempt.adopting()))
                : adopted(s, i, resolved);
    }

    void steps(State s, int i, Attempt attempt, Steps<State> out) {
        if (s.isRowLocked()) {
            return;
        }
        LockRow expected = expected(attempt);
        if (!isExpected(s, attempt)) {
            out.add("finds its own row changed", i, s.with(i, s.service(i).with(attempt.looking())));
        } else if (!s.db().isStandbyAway()) {
            State confirmed = s.with(expected.superseded()).with(s.ledger().confirmed(expected.token()));
            out.add("adopts its grant", i, adopted(confirmed, i, attempt));
        } else if (s.isCancellable()) {
            State done = s.with(expected.superseded());
            State told = scenario.keeps(Rule.BELIEVE_NO_CANCELLED_WRITE)
                    ? withoutAnswer(done, i, attempt)
                    : adopted(done, i, attempt);
            out.addFault("adopts its grant by the primary alone, its wait is cancelled", i, told.cancelled());
        }
    }

    /** The write had no answer, whether it was done or not. */
    void lose(State s, int i, Attempt attempt, Steps<State> out) {
        out.addFault("has no answer to its adoption, which was not done", i, withoutAnswer(s, i, attempt));
        if (isExpected(s, attempt) && !s.isRowLocked() && !s.db().isStandbyAway()) {
            State done = s.with(expected(attempt).superseded());
            out.addFault("has no answer to its adoption", i, withoutAnswer(done, i, attempt));
        }
    }

    private State withoutAnswer(State s, int i, Attempt attempt) {
        return s.with(
                i,
                s.service(i)
                        .with(attempt.looking(
                                expected(attempt).version(),
                                scenario.doubtful(expected(attempt).token()))));
    }

    private static LockRow expected(Attempt attempt) {
        return Objects.requireNonNull(Objects.requireNonNull(attempt.seen()).row());
    }

    private static boolean isExpected(State s, Attempt attempt) {
        LockRow row = s.db().row();
        LockRow expected = expected(attempt);
        return row != null
                && row.version() == expected.version()
                && row.token() == expected.token()
                && row.owner() == expected.owner();
    }

    private State adopted(State s, int i, Attempt attempt) {
        LockRow row = expected(attempt);
        int validFor = Objects.requireNonNull(attempt.seen()).timeUntilOver(scenario.tolerance());
        Hold hold = Hold.granted(row.owner(), row.token(), row.node(), validFor, stage(attempt), 0);
        return s.told(i, s.service(i).onItsNode(hold));
    }

    /** Of a hold that begins. */
    Stage stage(Attempt attempt) {
        if (!scenario.keeps(Rule.CONFIRM_BY_A_LATER_BEAT)) {
            return Stage.LASTS_WITH_NODE;
        }
        return attempt.wasMissed() ? Stage.UNCONFIRMED : Stage.CONFIRMED;
    }
}
