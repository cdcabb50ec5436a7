package io.github.holdfast.service;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What this process knows of its node: until when it lives by the local clock, counted from before the last beat that the
 * database confirmed was sent. A node that is over never comes back. One thread at a time may write; any may look.
 */
final class Node {

    private final String id;
    private final NodeTiming timing;
    private final Ticker ticker;

    /** When the last beat was sent that was confirmed. */
    private volatile long beatAt;

    /** When the last beat was sent, confirmed or not. */
    private volatile long attemptAt;

    private volatile boolean isFailing;

    /** Whether a beat is due that is sent after that local time, whatever becomes of one that is under way. */
    private volatile boolean isDemanded;

    private volatile long demandedAt;
    private volatile @Nullable LossCause end;
    private volatile long version;

    /**
     * A node that was just registered.
     *
     * @param sentAt the local time before it was
     */
    Node(String id, NodeTiming timing, Ticker ticker, long sentAt) {
        this.id = id;
        this.timing = timing;
        this.ticker = ticker;
        this.beatAt = sentAt;
        this.attemptAt = sentAt;
    }

    String id() {
        return id;
    }

    Duration lease() {
        return timing.lease();
    }

    long version() {
        return version;
    }

    /** How many nanoseconds it lives from this local time on, unless it beats; zero or less if it is over. */
    long left(long now) {
        return end != null ? 0 : Drift.end(beatAt, timing.lease()) - now;
    }

    /** How many nanoseconds from this local time on until a beat is overdue; zero or less if one is. */
    long untilSuspect(long now) {
        return beatAt + timing.suspectAfter().toNanos() - now;
    }

    boolean isOver() {
        return left(ticker.nanoTime()) <= 0;
    }

    /** Whether a beat was confirmed that was sent after this local time. */
    boolean hasBeatenSince(long time) {
        return beatAt - time > 0;
    }

    /** How long ago the last confirmed beat was sent. */
    Duration sinceBeat() {
        return Duration.ofNanos(ticker.nanoTime() - beatAt);
    }

    /** Why it is over, or will be if nothing changes: a beat that has no answer yet tells of the database. */
    LossCause cause() {
        LossCause told = end;
        if (told != null) {
            return told;
        }
        return attemptAt == beatAt ? LossCause.EXPIRED : LossCause.DATABASE_UNREACHABLE;
    }

    /** Whether the last beat had no answer yet, or a bad one. */
    boolean isFailing() {
        return isFailing;
    }

    boolean isBeatDue() {
        long early = timing.tick().toNanos() / 2;
        return isFailing
                || isDemanded
                || ticker.nanoTime() - beatAt >= timing.period().toNanos() - early;
    }

    /** What the last beat has told is perhaps no longer so: the next one is due. */
    void demandBeat() {
        demandedAt = ticker.nanoTime();
        isDemanded = true;
    }

    /** Returns the local time before a beat is sent. */
    long beginBeat() {
        isFailing = true;
        attemptAt = ticker.nanoTime();
        return attemptAt;
    }

    /**
     * A beat was confirmed.
     *
     * @return false if that came too late: the node was over before, and its holders may have been told
     */
    boolean beaten(long sentAt) {
        if (isOver()) {
            end(cause());
            return false;
        }
        beatAt = sentAt;
        isFailing = false;
        if (sentAt - demandedAt >= 0) {
            isDemanded = false;
        }
        version = version() + 1;
        return true;
    }

    /** Takes up the version that the database shows; the node lives no longer for that. */
    void moveTo(long seenVersion) {
        version = seenVersion;
    }

    /** Ends it locally: all that it holds is lost. */
    void end(LossCause cause) {
        if (end == null) {
            end = cause;
        }
    }
}
