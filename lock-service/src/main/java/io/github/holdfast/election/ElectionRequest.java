package io.github.holdfast.election;

import io.github.holdfast.entity.LockNames;
import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request to take part in an election. Immutable: each method returns a copy with one change.
 *
 * <pre>{@code
 * ElectionRequest.of("reports").candidate("10.0.0.7:8080")
 * }</pre>
 */
public final class ElectionRequest {

    /** The default of {@link #retryAfterEnd}: 2 seconds. */
    public static final Duration DEFAULT_RETRY = Duration.ofSeconds(2);

    /** The shortest interval of {@link #lookEvery}: 100 milliseconds. */
    public static final Duration SHORTEST_LOOK = Duration.ofMillis(100);

    /** The longest {@link #candidate}, in characters. */
    public static final int MAX_CANDIDATE_LENGTH = 100;

    /** What a candidate adds to the description of its process in the row of the lock. */
    static final String MARK = "holdfast-election";

    private final LockRequest lock;
    private final @Nullable String candidate;
    private final Duration retryAfterEnd;
    private final @Nullable Duration lookEvery;
    private final WhenSuspect whenSuspect;

    /** What a leader does when the heartbeat of its service is overdue. */
    private enum WhenSuspect {
        LEAD_ON,
        STEP_DOWN
    }

    private ElectionRequest(
            LockRequest lock,
            @Nullable String candidate,
            Duration retryAfterEnd,
            @Nullable Duration lookEvery,
            WhenSuspect whenSuspect) {
        this.lock = lock;
        this.candidate = candidate;
        this.retryAfterEnd = retryAfterEnd;
        this.lookEvery = lookEvery;
        this.whenSuspect = whenSuspect;
    }

    /**
     * Returns a request for an election.
     *
     * @param name the name of the election and of its lock, with the rules of {@link LockRequest#of}. No semaphore can have the same
     *     name
     * @throws IllegalArgumentException if the name is not valid
     */
    public static ElectionRequest of(String name) {
        return new ElectionRequest(LockRequest.of(name).notReentrant(), null, DEFAULT_RETRY, null, WhenSuspect.LEAD_ON);
    }

    /**
     * Sets how other nodes see this one while it leads, such as by its address. {@link LeaderElection#leader()} returns it, and it is
     * part of the description of the lock's holder. By default, it is the description of the process.
     *
     * @param candidate 1 to {@link #MAX_CANDIDATE_LENGTH} characters, with the rules of a {@linkplain LockRequest#of name}
     * @throws IllegalArgumentException if it breaks these rules
     */
    public ElectionRequest candidate(String candidate) {
        return new ElectionRequest(
                lock,
                LockNames.checked("candidate", candidate, MAX_CANDIDATE_LENGTH),
                retryAfterEnd,
                lookEvery,
                whenSuspect);
    }

    /**
     * Sets how long this node waits after the end of a leadership, before it is a candidate again. So another node has time to become
     * the leader. After a forced release, it waits for the lease of its node and the clock tolerance in addition, because the lock may
     * stay unavailable for so long.
     *
     * @param pause zero to {@link LockRequest#LONGEST_DURATION}; {@link #DEFAULT_RETRY} by default
     * @throws IllegalArgumentException if it is out of that range
     */
    public ElectionRequest retryAfterEnd(Duration pause) {
        return new ElectionRequest(
                lock, candidate, LockRequest.checkedDuration("pause", pause), lookEvery, whenSuspect);
    }

    /**
     * Makes a candidate poll at regular intervals, instead of waiting for the lock. Each poll is one statement. A candidate notices up
     * to one interval later that there is no leader any more.
     *
     * <p>By default, a candidate waits like any acquisition. All waiting threads of a service together then cost one or two statements
     * a second, and the candidate leads within milliseconds of a resignation. Use this method where waiting threads poll: on H2, and
     * {@linkplain io.github.holdfast.service.LockServiceBuilder#withoutWakeUp without wake-ups}. There, waiting costs about 25
     * statements a second.
     *
     * @param interval {@link #SHORTEST_LOOK} to {@link LockRequest#LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     */
    public ElectionRequest lookEvery(Duration interval) {
        return new ElectionRequest(
                lock, candidate, retryAfterEnd, LockRequest.checked("interval", interval, SHORTEST_LOOK), whenSuspect);
    }

    /**
     * Ends the leadership as soon as the service's heartbeat is overdue: when two thirds of the node's lease have passed without one.
     * By default, the leader goes on until the whole lease has expired.
     */
    public ElectionRequest stepDownWhenSuspect() {
        return new ElectionRequest(lock, candidate, retryAfterEnd, lookEvery, WhenSuspect.STEP_DOWN);
    }

    /** Returns the name of the election and its lock. */
    public String name() {
        return lock.name();
    }

    /** Returns how other nodes see this one while it leads; empty if by the description of its process. */
    public Optional<String> candidate() {
        return Optional.ofNullable(candidate);
    }

    /** Returns how long this node waits after the end of a leadership. */
    public Duration retryAfterEnd() {
        return retryAfterEnd;
    }

    /** Returns the interval of the candidate's polls; empty if it waits for the lock. */
    public Optional<Duration> lookEvery() {
        return Optional.ofNullable(lookEvery);
    }

    /** Returns whether the leadership ends as soon as the heartbeat is overdue. */
    public boolean isEndedWhenSuspect() {
        return whenSuspect == WhenSuspect.STEP_DOWN;
    }

    LockRequest lock() {
        return lock;
    }

    /** The name of a thread that acquires the lock: the service writes it into the row, behind the description of its process. */
    String threadName() {
        return candidate == null ? MARK : MARK + ":" + candidate;
    }

    /** Returns the candidate in the holder of a lock. The holder of another kind of lock is returned unchanged. */
    static String candidateIn(String holder) {
        int end = markIn(holder) + 1 + MARK.length();
        return isOfCandidate(holder) && holder.startsWith(":", end) ? holder.substring(end + 1) : processIn(holder);
    }

    /** Returns the process in the holder of a lock. The holder of another kind of lock is returned unchanged. */
    static String processIn(String holder) {
        return isOfCandidate(holder) ? holder.substring(0, markIn(holder)) : holder;
    }

    /** Returns whether the holder of a lock was a candidate. */
    static boolean isOfCandidate(String holder) {
        return markIn(holder) >= 0;
    }

    private static int markIn(String holder) {
        return holder.indexOf("/" + MARK);
    }

    @Override
    public String toString() {
        return "ElectionRequest[name=%s, candidate=%s, retryAfterEnd=%s, lookEvery=%s, whenSuspect=%s]"
                .formatted(name(), candidate, retryAfterEnd, lookEvery, whenSuspect);
    }
}
