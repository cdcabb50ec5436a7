package io.github.holdfast.faults;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Orders the grants of a name by version, as far as it is known, and judges that order. */
record GrantOrder(Exemptions exemptions, Verdict verdict) {

    void judge(List<Operation> ofName) {
        List<Operation> grants = ofName.stream()
                .filter(operation -> operation.is(Action.ACQUIRE, Phase.OK))
                .filter(grant -> grant.facts().version() != Facts.UNSET)
                .sorted(Comparator.comparingLong(grant -> grant.facts().version()))
                .toList();
        Operation latestBegun = null;
        for (int i = 0; i < grants.size(); i++) {
            Operation grant = grants.get(i);
            if (latestBegun != null && grant.endNanos() < latestBegun.begin().nanos()) {
                report(Promise.ORDERED_BY_VERSION, grant, latestBegun);
            }
            if (latestBegun == null
                    || grant.begin().nanos() > latestBegun.begin().nanos()) {
                latestBegun = grant;
            }
            if (i > 0 && grant.facts().token() <= grants.get(i - 1).facts().token()) {
                report(Promise.TOKENS_INCREASE, grants.get(i - 1), grant);
            }
        }
    }

    private void report(Promise promise, Operation first, Operation second) {
        Optional<Action> exempting = exemptions.between(first, second, Exemptions.OF_TOKENS);
        exempting.ifPresentOrElse(verdict::exempted, () -> verdict.violated(promise, first, second));
    }
}
