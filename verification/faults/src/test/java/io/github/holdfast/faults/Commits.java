package io.github.holdfast.faults;

import java.util.Comparator;
import java.util.List;

/** The guarded commits of a name: each has counted one up, from what it has read. */
record Commits(Verdict verdict) {

    void judge(List<Operation> ofName) {
        List<Operation> done = ofName.stream()
                .filter(operation -> operation.is(Action.COMMIT, Phase.OK))
                .sorted(Comparator.comparingLong(commit -> commit.facts().value()))
                .toList();
        for (int i = 1; i < done.size(); i++) {
            Facts before = done.get(i - 1).facts();
            Facts now = done.get(i).facts();
            if (now.value() == before.value()) {
                verdict.violated(Promise.NO_COMMIT_LOST, done.get(i - 1), done.get(i));
            }
            if (now.token() < before.token()) {
                verdict.violated(Promise.COMMITS_IN_ORDER_OF_TOKENS, done.get(i - 1), done.get(i));
            }
        }
        long unknown = ofName.stream()
                .filter(operation -> operation.is(Action.COMMIT, Phase.UNKNOWN))
                .count();
        ofName.stream()
                .filter(operation -> operation.is(Action.COUNTER, Phase.OK))
                .filter(counter ->
                        counter.facts().value() < done.size() || counter.facts().value() > done.size() + unknown)
                .forEach(counter -> verdict.violated(Promise.NO_COMMIT_LOST, counter));
    }
}
