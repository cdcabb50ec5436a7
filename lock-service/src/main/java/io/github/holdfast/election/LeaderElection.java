package io.github.holdfast.election;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.LockEngine;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledExecutorService;
import org.jspecify.annotations.Nullable;

/**
 * This node's part in an election: at most one node of all leads at a time. Thread-safe.
 *
 * <pre>{@code
 * LeaderElection election = locks.election(ElectionRequest.of("reports"));
 * election.start();
 * if (election.isLeader()) {
 *     report.write();
 * }
 * }</pre>
 *
 * <p>The leader has a lock without a lease. It leads until it resigns, as long as its process lives and reaches the database. Leading
 * costs no statement beyond the heartbeat of the service. If the leader dies, another node leads when the node's lease has expired.
 *
 * <p>The thread of the election runs the callbacks. Its transactions are fenced: a previous leader cannot commit. For transactions of
 * other threads, call {@link Leadership#guard}.
 */
public final class LeaderElection implements AutoCloseable {

    /** Not the name under which a candidate acquires: what the leader's work locks is not an election. */
    private static final String THREAD_NAME = "holdfast-leader";

    private static final String WATCH_NAME = "holdfast-leader-watch";

    /** How long a read may take. */
    private static final Duration READ_LIMIT = Duration.ofSeconds(10);

    /** How long a candidate waits after the database has refused its attempt. */
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofSeconds(5);

    /** A leader that does not return gets the first half, and the substitute of its thread the second. */
    private static final Duration LONGEST_CLOSE = Term.PATIENCE.multipliedBy(2);

    private final LockEngine engine;
    private final Elections underWay;
    private final ElectionRequest request;
    private volatile @Nullable Term current;

    /** Whether its user has closed it, and not only the service. */
    private boolean isClosed;

    /** The one under way; null if there is none. */
    private @Nullable Campaign campaign;

    /**
     * One candidacy, from its begin to its end.
     *
     * @param ended counted down when the thread that campaigns has ended
     */
    private record Campaign(Candidate candidate, CountDownLatch ended) {}

    /** @param underWay contains this election as long as it has a candidate */
    LeaderElection(LockEngine engine, Elections underWay, ElectionRequest request) {
        this.engine = engine;
        this.underWay = underWay;
        this.request = request;
    }

    /** Work that only the leader does. */
    @FunctionalInterface
    public interface Work<E extends Exception> {

        /**
         * Does the work.
         *
         * @param leadership says how long the leadership lasts
         * @throws E if the work failed
         */
        void lead(Leadership leadership) throws E;
    }

    /** Returns the name of the election and its lock. */
    public String name() {
        return request.name();
    }

    /**
     * Makes this node a candidate. A thread of the election waits for the leadership, again and again, until the election is closed.
     *
     * @throws IllegalStateException if the election was started before, or is closed, or the service is. After the service was {@linkplain
     *     io.github.holdfast.service.LockService#reopen opened again}, the election can be started again
     */
    public void start() {
        start(new NoCallbacks());
    }

    /**
     * Makes this node a candidate, like {@link #start()}, and calls the callbacks when its leadership begins and ends.
     *
     * @throws IllegalStateException if the election was started before, or is closed, or the service is
     */
    public void start(LeaderCallbacks callbacks) {
        Objects.requireNonNull(callbacks, "callbacks");
        Campaign begun = beginCampaign();
        try {
            ScheduledExecutorService thread = engine.scheduler(THREAD_NAME);
            thread.execute(() -> {
                try {
                    campaign(begun.candidate(), callbacks);
                } finally {
                    endCampaign(begun);
                }
            });
            // The thread ends with this work.
            thread.shutdown();
        } catch (RuntimeException | Error noThread) {
            endCampaign(begun);
            throw noThread;
        }
    }

    private synchronized Campaign beginCampaign() {
        if (isClosed) {
            throw new IllegalStateException("Election '" + name() + "' is closed");
        }
        Campaign other = campaign;
        if (other != null && !other.candidate().isClosed()) {
            throw new IllegalStateException("Election '" + name()
                    + "' has a candidate already: create another election with the same request for a second one");
        }
        underWay.add(this);
        Campaign begun = new Campaign(new Candidate(engine, request), new CountDownLatch(1));
        campaign = begun;
        return begun;
    }

    private void campaign(Candidate candidate, LeaderCallbacks callbacks) {
        while (!candidate.isClosed()) {
            try {
                awaitAndLead(candidate, callbacks);
            } catch (InterruptedException ofNobody) {
                LeaderLog.interrupted(name(), ofNobody);
            } catch (Throwable failed) {
                // Also what a callback throws without saying so, and if no thread can be created: this node stays a
                // candidate.
                LeaderLog.candidateFailed(name(), failed);
                candidate.rest(PAUSE_AFTER_FAILURE);
            }
        }
    }

    /** Waits until this node leads, and leads for one term. The thread that watches the term starts before the wait. */
    private void awaitAndLead(Candidate candidate, LeaderCallbacks callbacks) throws InterruptedException {
        ScheduledExecutorService watch = engine.scheduler(WATCH_NAME);
        try {
            Optional<LockHandle> lock = candidate.await();
            if (lock.isPresent()) {
                lead(candidate, lock.get(), callbacks, watch);
            }
        } finally {
            watch.shutdownNow();
        }
    }

    private void lead(Candidate candidate, LockHandle lock, LeaderCallbacks callbacks, ScheduledExecutorService watch) {
        Term term = null;
        try {
            term = begin(candidate, lock, callbacks, watch);
            term.lead();
        } finally {
            over(term);
            ReleaseOutcome unused = lock.release();
        }
        Duration pause = request.retryAfterEnd();
        candidate.rest(term.mayBeForced() ? pause.plus(engine.longestForcedDelay()) : pause);
    }

    private Term begin(
            Candidate candidate, LockHandle lock, LeaderCallbacks callbacks, ScheduledExecutorService watch) {
        engine.expectToLast(lock);
        Term term = new Term(lock, request, callbacks, watch);
        current = term;
        // Either this thread sees the close, or the closing thread sees the term.
        if (candidate.isClosed()) {
            term.end(RevocationCause.RESIGNED);
        }
        return term;
    }

    /**
     * Waits until this node leads, does the work on the calling thread, and resigns. If the leadership ends before the work, the thread
     * is interrupted. Its transactions are fenced. The election must not be {@linkplain #start started}. It can be used again.
     *
     * @throws E the exception of the work; a loss of the leadership is added to it as suppressed
     * @throws IllegalStateException if the election is started, used by another thread or closed, also during the wait
     * @throws LockLostException if the work returned, but the leadership was lost before that, and no transaction has committed in it
     * @throws LockStoreException if the database refused the operation
     * @throws InterruptedException if the thread is interrupted before this node leads
     */
    public <E extends Exception> void runAsLeader(Work<E> work) throws E, InterruptedException {
        Campaign begun = beginCampaign();
        try {
            leadDuring(begun.candidate(), work);
        } finally {
            endCampaign(begun);
        }
    }

    private <E extends Exception> void leadDuring(Candidate candidate, Work<E> work) throws E, InterruptedException {
        ScheduledExecutorService watch = engine.scheduler(WATCH_NAME);
        try (LockHandle lock = candidate.await().orElseThrow(this::closed)) {
            Term term = begin(candidate, lock, new NoCallbacks(), watch);
            try {
                term.leadDuring(() -> work.lead(term));
            } finally {
                over(term);
            }
        } finally {
            watch.shutdownNow();
        }
    }

    private IllegalStateException closed() {
        return new IllegalStateException("Election '" + name() + "' was closed");
    }

    /** A campaign whose callback outlasted a close of the service may end during a later one, which continues. */
    private synchronized void endCampaign(Campaign begun) {
        if (begun.equals(campaign)) {
            campaign = null;
            underWay.remove(this);
        }
        begun.ended().countDown();
    }

    private synchronized void over(@Nullable Term term) {
        if (current == term) {
            current = null;
        }
    }

    /**
     * Returns whether this node leads. As long as it does, no other candidate can become the leader. It costs no statement. It is false
     * from the moment of a resignation, and before any other candidate can lead after a loss.
     */
    public boolean isLeader() {
        return leadership().isPresent();
    }

    /** Returns the present leadership of this node; empty if it does not lead. It costs no statement. */
    public Optional<Leadership> leadership() {
        Term term = current;
        return term == null || term.isOver() ? Optional.empty() : Optional.of(term);
    }

    /**
     * Reads the leader, on whatever node. One statement.
     *
     * @return empty if no candidate leads
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    public Optional<LeaderInfo> leader() {
        engine.checkOpen();
        try {
            return engine.untilDecided(
                            READ_LIMIT,
                            () -> engine.store().autocommit(READ_LIMIT).read(name()))
                    .flatMap(LockInfo::ofHeld)
                    .map(LeaderInfo::of);
        } catch (StoreException failed) {
            throw new LockStoreException(name(), "could not be read", failed);
        }
    }

    /**
     * Gives up the leadership, if this node leads. It does not wait. {@link #isLeader} is false at once. If {@link
     * LeaderCallbacks#onGranted} still runs on another thread, that thread is interrupted. The lock is released when both callbacks have
     * returned, which costs one statement. After {@link ElectionRequest#retryAfterEnd}, this node is a candidate again.
     */
    public void resign() {
        Term term = current;
        if (term != null) {
            term.end(RevocationCause.RESIGNED);
        }
    }

    /**
     * Closes the election. This node resigns, and is no candidate any more. The method waits until the callbacks have returned and the
     * lock is released, but for 2 seconds at most. It does not wait if a callback calls it. A second call changes nothing. Not
     * interruptible.
     */
    @Override
    public void close() {
        markClosed();
        stop();
        awaitEnd();
    }

    private synchronized void markClosed() {
        isClosed = true;
    }

    /** Ends the candidacy, and does not wait. */
    void stop() {
        Campaign begun = campaignUnderWay();
        if (begun != null) {
            begun.candidate().close();
        }
        resign();
    }

    /** Waits until the thread that campaigns has ended, if it can. After an interrupt too: its callbacks may still work under the lock. */
    void awaitEnd() {
        Campaign begun = campaignUnderWay();
        Term term = current;
        if (begun == null || (term != null && term.isOfCurrentThread())) {
            return;
        }
        if (!engine.await(() -> begun.ended().getCount() == 0, LONGEST_CLOSE)) {
            LeaderLog.isStuck(name());
        }
    }

    private synchronized @Nullable Campaign campaignUnderWay() {
        return campaign;
    }

    @Override
    public String toString() {
        return "LeaderElection[" + request + "]";
    }
}
