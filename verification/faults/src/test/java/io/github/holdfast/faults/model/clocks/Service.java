package io.github.holdfast.faults.model.clocks;

import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * A process with one lock service. Null is what is not there.
 *
 * @param holds whether the lock was granted through the node
 * @param sight what the service has seen of the other node
 * @param reading a read under way; its age counts from when it was sent, and it shows nothing yet
 * @param ending the statement that ends the other node, before it is executed
 * @param knownSteps how many steps of the clock the service has noticed; {@link #NO_READING} before its first reading
 * @param distrust how many ticks the clock is not trusted
 */
record Service(
        @Nullable LocalNode node,
        @Nullable Beat beat,
        boolean holds,
        @Nullable Sight sight,
        @Nullable Sight reading,
        @Nullable Sight ending,
        int knownSteps,
        int distrust) {

    static final int NO_READING = -1;

    /** A process that does not start again. */
    static final int GONE = -2;

    static final Service STARTED = new Service(null, null, false, null, null, null, NO_READING, 0);

    /**
     * The own node.
     *
     * @param left how long it lives by the local clock
     * @param counter what the last answered beat has written
     * @param drawn the greatest counter that a beat was to write
     */
    record LocalNode(int id, int left, int counter, int drawn) {}

    /**
     * A beat under way, or one that no service waits for any more.
     *
     * @param left how long the node lives if it is answered, counted from before it was sent
     */
    record Beat(Phase phase, int node, int left, int counter, int next) {
        Beat in(Phase other) {
            return new Beat(other, node, left, counter, next);
        }

        Beat lessBy(int id, int less) {
            return node == id ? new Beat(phase, node, left, counter - less, next - less) : this;
        }
    }

    enum Phase {
        SENT,
        DONE,
        MISSED
    }

    /** A counter of another node, and for how many ticks it is known. */
    record Sight(int node, int counter, int age) {
        Sight later(int most) {
            return new Sight(node, counter, Math.min(most, age + 1));
        }

        Sight clamped(int id, int floor) {
            return node == id && counter < floor ? new Sight(node, floor, age) : this;
        }

        Sight lessBy(int id, int less) {
            return node == id ? new Sight(node, counter - less, age) : this;
        }
    }

    boolean believes() {
        return holds && node != null && node.left() > 0;
    }

    boolean isGone() {
        return knownSteps == GONE;
    }

    Service gone() {
        return new Service(null, null, false, null, null, null, GONE, 0);
    }

    Service with(@Nullable LocalNode other) {
        return new Service(other, beat, holds && other != null, sight, reading, ending, knownSteps, distrust);
    }

    Service with(@Nullable Beat other) {
        return new Service(node, other, holds, sight, reading, ending, knownSteps, distrust);
    }

    Service holding() {
        return new Service(node, beat, true, sight, reading, ending, knownSteps, distrust);
    }

    Service released() {
        return new Service(node, beat, false, sight, reading, ending, knownSteps, distrust);
    }

    Service reading(@Nullable Sight other) {
        return new Service(node, beat, holds, sight, other, ending, knownSteps, distrust);
    }

    Service having(Sight other) {
        return new Service(node, beat, holds, other, null, ending, knownSteps, distrust);
    }

    Service ending(@Nullable Sight other) {
        return new Service(node, beat, holds, sight, reading, other, knownSteps, distrust);
    }

    /** The service has read the clock. */
    Service noticing(int clockSteps, int distrusts) {
        int next = knownSteps == NO_READING || knownSteps == clockSteps ? distrust : distrusts;
        return new Service(node, beat, holds, sight, reading, ending, clockSteps, next);
    }

    /** @param isLiving whether a node has not ended; the service needs nothing of another one */
    Service seeing(IntPredicate isLiving) {
        return new Service(
                node,
                beat,
                holds,
                sight == null || !isLiving.test(sight.node()) ? null : sight,
                reading == null || !isLiving.test(reading.node()) ? null : reading,
                ending == null || !isLiving.test(ending.node()) ? null : ending,
                knownSteps,
                distrust);
    }

    Service clamped(int id, int floor) {
        return new Service(
                node,
                beat,
                holds,
                sight == null ? null : sight.clamped(id, floor),
                reading,
                ending == null ? null : ending.clamped(id, floor),
                knownSteps,
                distrust);
    }

    Service lessBy(int id, int less) {
        LocalNode own = node == null || node.id() != id
                ? node
                : new LocalNode(id, node.left(), node.counter() - less, node.drawn() - less);
        return new Service(
                own,
                beat == null ? null : beat.lessBy(id, less),
                holds,
                sight == null ? null : sight.lessBy(id, less),
                reading,
                ending == null ? null : ending.lessBy(id, less),
                knownSteps,
                distrust);
    }

    /** @param most the age from which on a sight counts */
    Service later(int most) {
        return new Service(
                node == null
                        ? null
                        : new LocalNode(node.id(), Math.max(0, node.left() - 1), node.counter(), node.drawn()),
                beat == null
                        ? null
                        : new Beat(
                                beat.phase(), beat.node(), Math.max(0, beat.left() - 1), beat.counter(), beat.next()),
                holds,
                sight == null ? null : sight.later(most),
                reading == null ? null : reading.later(most),
                ending,
                knownSteps,
                Math.max(0, distrust - 1));
    }
}
