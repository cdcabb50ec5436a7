package io.github.holdfast.faults;

import java.time.Duration;
import java.util.List;

/** What must be so when the faults are over. */
record Aftermath(long calmNanos, Duration freeWithin, Verdict verdict) {

    void judge(List<Operation> ofName) {
        for (Operation operation : ofName) {
            if (operation.action() == Action.PROBE && !isInTime(operation)) {
                verdict.violated(Promise.BECOMES_FREE, operation);
            }
            if (operation.action() == Action.LEFT && operation.outcome() != Phase.OK) {
                verdict.violated(Promise.NOTHING_LEAKED, operation);
            }
            if (operation.is(Action.ROW, Phase.FAIL)) {
                verdict.violated(Promise.NOTHING_LEFT_BY_THE_DEAD, operation);
            }
            if (operation.action() == Action.SHARE_ROW) {
                verdict.violated(Promise.NOTHING_LEFT_BY_THE_DEAD, operation);
            }
            if (operation.action() == Action.PLACE) {
                verdict.violated(
                        operation.outcome() == Phase.FAIL ? Promise.NOTHING_LEFT_BY_THE_DEAD : Promise.NOTHING_LEAKED,
                        operation);
            }
        }
    }

    private boolean isInTime(Operation probe) {
        return probe.outcome() == Phase.OK && probe.endNanos() - calmNanos <= freeWithin.toNanos();
    }
}
