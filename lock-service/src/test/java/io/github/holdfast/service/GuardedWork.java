package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;

import io.github.holdfast.lock.LockRequest;
import java.time.Duration;

/**
 * What a {@link GuardedWorker} is to do.
 *
 * @param commits how often it posts
 * @param isolation that of all its connections
 */
record GuardedWork(int commits, Acquire acquire, Kept kept, Fence fence, Isolation isolation) {

    static final String LOCK = "ledger";

    static final Duration LEASE = ofSeconds(2);
    static final Duration NODE_LEASE = ofSeconds(3);

    /** When the lock is acquired. */
    enum Acquire {
        BEFORE_THE_TRANSACTION,
        INSIDE,
        BEFORE_AND_INSIDE
    }

    /** Whether commits are fenced. */
    enum Fence {
        ON,
        OFF
    }

    /** What became of the attempts: those that were not committed failed for a reason that was told. */
    record Figures(int commits, int losses, int failures, int conflicts) {

        static Figures of(String line) {
            String[] words = line.split(" ");
            return new Figures(
                    Integer.parseInt(words[1]),
                    Integer.parseInt(words[2]),
                    Integer.parseInt(words[3]),
                    Integer.parseInt(words[4]));
        }

        String line() {
            return "done %d %d %d %d".formatted(commits, losses, failures, conflicts);
        }

        int refused() {
            return losses + failures + conflicts;
        }

        Figures plus(Figures other) {
            return new Figures(
                    commits + other.commits,
                    losses + other.losses,
                    failures + other.failures,
                    conflicts + other.conflicts);
        }
    }

    static GuardedWork of(String line) {
        String[] words = line.split(" ");
        return new GuardedWork(
                Integer.parseInt(words[1]),
                Acquire.valueOf(words[2]),
                Kept.valueOf(words[3]),
                Fence.valueOf(words[4]),
                Isolation.valueOf(words[5]));
    }

    String line() {
        return "work %d %s %s %s %s".formatted(commits, acquire, kept, fence, isolation);
    }

    LockRequest request() {
        LockRequest request = LockRequest.of(LOCK).waitAtMost(ofSeconds(60));
        LockRequest withKept = kept.of(request, LEASE);
        return fence == Fence.ON ? withKept.requireFence() : withKept.withoutFence();
    }
}
