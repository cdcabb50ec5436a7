package io.github.holdfast.service.engine.node;

import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.security.SecureRandom;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * This process's view of its service's node. By the local clock, the node's lease begins just before the last confirmed beat was
 * sent. A node that has expired or ended never comes back. One thread at a time may write; any thread may read.
 */
public final class Node {

    private static final SecureRandom RANDOM = new SecureRandom();

    private final String id;
    private final Timing timing;
    private final Ticker ticker;

    /** When the last confirmed beat was sent. */
    private volatile long beatAt;

    /** When the last beat was sent, confirmed or not. */
    private volatile long attemptAt;

    private volatile boolean isFailing;

    /** Whether a new beat is due. It must be sent after {@link #demandedAt}, so a beat under way does not count. */
    private volatile boolean isDemanded;

    private volatile long demandedAt;
    private volatile boolean mayHoldPermits;

    /** When a grant missed the node, by local time; null if none has for the length of a lease. */
    private volatile @Nullable Long missedAt;

    private volatile @Nullable LossCause end;
    private volatile long version;

    /** The version that beats without an answer may have written; null if there is none. Not drawn before it is needed. */
    private volatile @Nullable Long pendingVersion;

    /** How many beats without an answer there are. Each writes another version, because observers count from the first sight of one. */
    private int unanswered;

    /**
     * A node that was just registered.
     *
     * @param sentAt the local time before the registration was sent
     */
    public Node(String id, Timing timing, Ticker ticker, long sentAt) {
        this.id = id;
        this.timing = timing;
        this.ticker = ticker;
        this.beatAt = sentAt;
        this.attemptAt = sentAt;
    }

    public String id() {
        return id;
    }

    public Duration lease() {
        return timing.lease();
    }

    /** Notes that permits of a semaphore may be held through this node from now on. */
    public void expectShares() {
        mayHoldPermits = true;
    }

    /** Whether permits of a semaphore may be held through this node. */
    public boolean mayHoldShares() {
        return mayHoldPermits;
    }

    public long version() {
        return version;
    }

    /** The version that a beat without an answer may have written; otherwise the same as {@link #version()}. */
    public long pendingVersion() {
        Long pending = pendingVersion;
        return pending == null ? version : pending;
    }

    /** The version that the beat under way is to write. */
    long sentVersion() {
        return pendingVersion() + unanswered - 1;
    }

    /**
     * Whether this process may have written this version of the row, perhaps by a beat without an answer, and others have only changed
     * it a few times since. Otherwise, another process beats through the node: both are copies of one image. An earlier version
     * appears after a failover that has undone beats.
     */
    public boolean mayBeOwn(long seenVersion) {
        long pending = pendingVersion();
        return seenVersion - version < LockNodeRepository.LEAST_STEP
                || (seenVersion >= pending && seenVersion - pending < LockNodeRepository.LEAST_STEP);
    }

    /** The nanoseconds that the node lives from this local time without another beat; zero or less if it has expired. */
    public long left(long now) {
        return end != null ? 0 : Ticker.endOfLease(beatAt, timing.lease()) - now;
    }

    /** The nanoseconds from this local time until a beat is overdue; zero or less if it is overdue. */
    public long untilSuspect(long now) {
        return beatAt + timing.suspectAfter().toNanos() - now;
    }

    public boolean isOver() {
        return left(ticker.nanoTime()) <= 0;
    }

    /** Whether the last confirmed beat was sent after this local time. */
    public boolean hasBeatenSince(long time) {
        return beatAt - time > 0;
    }

    /**
     * Notes that a grant has missed the node, because the database has no such row.
     *
     * @return whether the heartbeat has found the node since an earlier such miss, so that the heartbeat uses another database
     */
    public boolean missed() {
        long now = ticker.nanoTime();
        Long first = missedAt;
        if (first == null || now - first > timing.lease().toNanos()) {
            missedAt = now;
            return false;
        }
        return hasBeatenSince(first);
    }

    /** How long ago the last confirmed beat was sent. */
    Duration sinceBeat() {
        return Duration.ofNanos(ticker.nanoTime() - beatAt);
    }

    /** The cause of the node's end, or of its expected end. If the last beat had no answer, the database counts as the cause. */
    public LossCause cause() {
        LossCause told = end;
        if (told != null) {
            return told;
        }
        return attemptAt == beatAt ? LossCause.EXPIRED : LossCause.DATABASE_UNREACHABLE;
    }

    /** Whether the last beat has no answer yet, or failed. */
    boolean isFailing() {
        return isFailing;
    }

    public boolean isBeatDue() {
        long early = timing.tick().toNanos() / 2;
        return isFailing
                || isDemanded
                || ticker.nanoTime() - beatAt >= timing.period().toNanos() - early;
    }

    /** Demands a beat, because the result of the last one may be out of date. */
    void demandBeat() {
        demandedAt = ticker.nanoTime();
        isDemanded = true;
    }

    /** Begins a beat, which is to write {@link #sentVersion()}; returns the local time before it is sent. */
    public long beginBeat() {
        isFailing = true;
        if (pendingVersion == null) {
            pendingVersion = version + LockNodeRepository.LEAST_STEP + (RANDOM.nextLong() >>> 31);
            unanswered = 0;
        }
        unanswered++;
        attemptAt = ticker.nanoTime();
        return attemptAt;
    }

    /**
     * Notes that a beat was confirmed.
     *
     * @return false if the answer came too late: the node was already over, and its holders may have been notified
     */
    public boolean beaten(long sentAt) {
        LossCause cause = cause();
        if (isOver()) {
            end(cause);
            return false;
        }
        long until = Ticker.endOfLease(beatAt, timing.lease());
        beatAt = sentAt;
        // After the change: a node whose end another thread has just seen must not come back.
        if (ticker.nanoTime() - until >= 0) {
            end(cause);
            return false;
        }
        isFailing = false;
        if (sentAt - demandedAt >= 0) {
            isDemanded = false;
        }
        moveTo(sentVersion());
        return true;
    }

    /** Adopts the version in the database. This does not prolong the node's life. */
    public void moveTo(long seenVersion) {
        version = seenVersion;
        pendingVersion = null;
    }

    /** Ends the node locally: all locks held through it are lost. */
    public void end(LossCause cause) {
        if (end == null) {
            end = cause;
        }
    }

    /**
     * The timing of a node: when it beats, and when it counts as dead.
     *
     * @param lease how long the node lives without a beat, by the database's clock
     * @param suspectAfter how long after the last beat the next one is overdue
     * @param period how long after a beat the next one is due
     */
    public record Timing(Duration lease, Duration suspectAfter, Duration period) {

        public Timing {
            if (lease.compareTo(suspectAfter) <= 0 || suspectAfter.compareTo(period) <= 0 || period.isNegative()) {
                throw new IllegalArgumentException("The node lease (" + new ReadableDuration(lease)
                        + ") must be longer than the time until a heartbeat is overdue ("
                        + new ReadableDuration(suspectAfter)
                        + "), and that time longer than the heartbeat's period (" + new ReadableDuration(period) + ")");
            }
        }

        /**
         * The timing for this lease: two beats may fail before the lease expires.
         *
         * @throws IllegalArgumentException if the lease is shorter than 1 second or longer than a day
         */
        public static Timing ofLease(Duration lease) {
            Duration checked = ServiceSettings.checkedNodeLease(lease);
            return new Timing(checked, lease.multipliedBy(2).dividedBy(3), lease.dividedBy(3));
        }

        /** How often to check whether a beat is due, or a failed beat must be repeated. */
        public Duration tick() {
            return period.dividedBy(10);
        }
    }
}
