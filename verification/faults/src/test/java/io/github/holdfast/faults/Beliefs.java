package io.github.holdfast.faults;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.PriorityQueue;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What holders of a name believed. By each answer a holder knows until when it has the lock, unless it gives it back, is told that it
 * is lost, is killed, or closes its service. Those who share a lock may overlap. A row lock counts only if it was given back unbroken: its loss is noticed no earlier.
 *
 * @param ends of each worker, by the time when they were over
 */
record Beliefs(Exemptions exemptions, Map<Integer, NavigableMap<Long, Operation>> ends, Verdict verdict) {

    private record GrantOfWorker(int worker, long token) {}

    /** A grant that is being followed through the history. */
    private static final class Followed {
        private final Operation grant;
        private long until;
        private long over = Long.MAX_VALUE;

        Followed(Operation grant) {
            this.grant = grant;
            this.until = grant.facts().validUntil();
        }
    }

    void judge(List<Operation> ofName) {
        List<Belief> beliefs = beliefs(ofName);
        beliefs.sort(Comparator.comparingLong(Belief::from));
        PriorityQueue<Belief> current = new PriorityQueue<>(Comparator.comparingLong(Belief::until));
        for (Belief belief : beliefs) {
            while (!current.isEmpty() && current.element().until() <= belief.from()) {
                current.remove();
            }
            current.stream()
                    .filter(other -> !other.isShared() || !belief.isShared())
                    .forEach(other -> overlap(other.grant(), belief.grant()));
            current.add(belief);
        }
    }

    private void overlap(Operation first, Operation second) {
        exemptions
                .between(first, second, Exemptions.OF_ONE_HOLDER)
                .ifPresentOrElse(verdict::exempted, () -> verdict.violated(Promise.ONE_HOLDER, first, second));
    }

    private List<Belief> beliefs(List<Operation> ofName) {
        Map<GrantOfWorker, Followed> leases = new HashMap<>();
        Map<GrantOfWorker, Operation> rowLocks = new HashMap<>();
        List<Belief> beliefs = new ArrayList<>();
        for (Operation operation : ofName) {
            Facts facts = operation.facts();
            int worker = operation.begin().worker();
            GrantOfWorker grant = new GrantOfWorker(worker, facts.token());
            Followed lease = leases.get(grant);
            switch (operation.action()) {
                case ACQUIRE, SHARE -> {
                    if (operation.outcome() == Phase.OK) {
                        leases.put(grant, new Followed(operation));
                    }
                }
                case REENTER, LOOK, RENEW, SHARE_LOOK -> follow(lease, operation);
                case RELEASE, SHARE_RELEASE -> {
                    boolean isLast = operation.action() == Action.SHARE_RELEASE || facts.holds() == 0;
                    if (lease != null && isLast) {
                        lease.over = Math.min(lease.over, operation.begin().nanos());
                    }
                }
                case ROW_ACQUIRE -> {
                    if (operation.outcome() == Phase.OK) {
                        rowLocks.put(grant, operation);
                    }
                }
                case ROW_RELEASE -> {
                    Operation lock = rowLocks.remove(grant);
                    if (lock != null && operation.outcome() == Phase.OK) {
                        beliefs.add(new Belief(lock, operation.begin().nanos()));
                    }
                }
                default -> {}
            }
        }
        leases.values().forEach(lease -> beliefs.add(new Belief(lease.grant, end(lease))));
        beliefs.removeIf(belief -> belief.until() <= belief.from());
        return beliefs;
    }

    private static void follow(@Nullable Followed lease, Operation look) {
        if (lease == null) {
            return;
        }
        if (look.outcome() == Phase.OK) {
            lease.until = Math.max(lease.until, look.facts().validUntil());
        } else if (look.is(Action.LOOK, Phase.FAIL) || look.is(Action.SHARE_LOOK, Phase.FAIL)) {
            // By the end of the look it knew; when it noticed is earlier, and not known.
            lease.over = Math.min(lease.over, look.begin().nanos());
        }
    }

    private long end(Followed lease) {
        long until = Math.min(lease.until, lease.over);
        NavigableMap<Long, Operation> ofWorker =
                ends.getOrDefault(lease.grant.begin().worker(), new TreeMap<>());
        return ofWorker.tailMap(lease.grant.endNanos(), false).values().stream()
                .mapToLong(Beliefs::lastMoment)
                .reduce(until, Math::min);
    }

    /** A killed worker may go on until it is dead; one that closes its service knows before it does. */
    private static long lastMoment(Operation end) {
        return end.action() == Action.CLOSE ? end.begin().nanos() : end.endNanos();
    }
}
