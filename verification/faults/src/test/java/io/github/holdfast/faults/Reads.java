package io.github.holdfast.faults;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The guarded transactions under a share: what they have read stayed as it was until they had committed. */
record Reads(Exemptions exemptions, Verdict verdict) {

    void judge(List<Operation> ofName) {
        Map<Long, Operation> shares = new HashMap<>();
        for (Operation operation : ofName) {
            Facts facts = operation.facts();
            if (operation.is(Action.SHARE, Phase.OK)) {
                shares.put(facts.token(), operation);
            } else if (operation.is(Action.READ, Phase.OK) && facts.holds() != facts.value()) {
                changed(shares.getOrDefault(facts.token(), operation), operation);
            }
        }
    }

    /** If the row of the lock is deleted, the next writer does not know of those who share it. */
    private void changed(Operation share, Operation read) {
        Optional<Action> exempting = exemptions.between(share, read, Exemptions.OF_TOKENS);
        exempting.ifPresentOrElse(verdict::exempted, () -> verdict.violated(Promise.READ_UNCHANGED, share, read));
    }
}
