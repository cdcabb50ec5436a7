package io.github.holdfast.faults;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** That the holds of an owner return to zero: what it believes when it gives one back, and what the row shows afterwards. */
record HoldCounts(Verdict verdict) {

    private record GrantOfWorker(int worker, long token) {}

    void judge(List<Operation> ofName) {
        Map<GrantOfWorker, Long> counts = new HashMap<>();
        for (Operation operation : ofName) {
            GrantOfWorker grant = new GrantOfWorker(
                    operation.begin().worker(), operation.facts().token());
            boolean isEntered = operation.is(Action.ACQUIRE, Phase.OK) || operation.is(Action.REENTER, Phase.OK);
            if (isEntered) {
                counts.merge(grant, 1L, Long::sum);
            } else if (operation.is(Action.RELEASE, Phase.UNKNOWN)) {
                // Its handle is released, whatever the row shows.
                counts.merge(grant, -1L, Long::sum);
            } else if (operation.is(Action.RELEASE, Phase.OK)) {
                long left = counts.merge(grant, -1L, Long::sum);
                if (left != operation.facts().holds()) {
                    verdict.violated(Promise.COUNTS_RETURN_TO_ZERO, operation);
                }
            } else if (operation.is(Action.ROW, Phase.OK)
                    && (operation.facts().holds() != 0 || operation.facts().owner() != null)) {
                verdict.violated(Promise.COUNTS_RETURN_TO_ZERO, operation);
            }
        }
    }
}
