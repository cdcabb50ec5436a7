package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the members have granted together, from the first question to the release. The hold is held while a majority of its members
 * is held at the same time. Thread-safe.
 *
 * <p>A handle of a member that is lost stays lost. So a gap in the hold stays visible in its handles, until a new grant joins. {@link
 * #join} therefore judges first, and a loss is final.
 */
final class QuorumHold {

    private enum Phase {
        GATHERING,
        HELD,
        LOST,
        GIVEN_BACK
    }

    private final Quorum quorum;
    private final LockRequest request;
    private final Acquirer acquisition;
    private final MemberHolds holds;
    private final Thread acquirer = Thread.currentThread();
    private final CompletableFuture<Boolean> decision = new CompletableFuture<>();

    private final Grants granted;
    private final Loss loss;
    private Phase phase = Phase.GATHERING;
    private int holdCount = 1;
    private @Nullable QuorumToken token;

    /**
     * Creates a hold that has nothing yet.
     *
     * @param request what each member is asked for
     * @param acquisition the acquirer
     * @param holds where the hold is open until it is lost or given back
     */
    QuorumHold(Quorum quorum, LockRequest request, Acquirer acquisition, MemberHolds holds) {
        this.quorum = quorum;
        this.request = request;
        this.acquisition = acquisition;
        this.holds = holds;
        this.granted = new Grants(quorum);
        this.loss = new Loss(request.name(), acquisition.owner(), quorum);
    }

    String name() {
        return request.name();
    }

    Acquirer acquisition() {
        return acquisition;
    }

    LockRequest request() {
        return request;
    }

    /** Returns the thread that can re-enter the hold, unless it is detached. */
    Thread acquirer() {
        return acquirer;
    }

    /** Completes when the hold is held, or cannot be held any more. */
    CompletableFuture<Boolean> decision() {
        return decision;
    }

    /**
     * Waits for the decision, and returns whether the hold is held.
     *
     * @throws InterruptedException if the thread was interrupted; the hold is given back then
     */
    boolean awaitDecision(Duration atMost) throws InterruptedException {
        try {
            return decision.get(atMost.toNanos(), TimeUnit.NANOSECONDS) && isHeld();
        } catch (TimeoutException tooLate) {
            return isHeld();
        } catch (InterruptedException interrupted) {
            giveBack();
            throw interrupted;
        } catch (ExecutionException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * Adds the grant of a member, or releases it if the hold has ended. Called on the thread that sent the request to the member.
     *
     * @param handle detached from that thread
     */
    void join(Member member, LockHandle handle) {
        LockHandle superfluous;
        synchronized (this) {
            if (phase == Phase.HELD) {
                checkMembers();
            }
            if (phase == Phase.GATHERING || phase == Phase.HELD) {
                superfluous = granted.put(member, handle);
                decideIfEnough();
            } else {
                superfluous = handle;
            }
        }
        if (superfluous != null) {
            superfluous.release();
        }
        if (superfluous != handle) {
            handle.onLost(this::memberLost);
        }
    }

    private void decideIfEnough() {
        if (phase == Phase.GATHERING && granted.areAtMajority(this::isLongEnough)) {
            // All whose state is read here as alive were held together when the first state was read. The order of the
            // tokens rests on this.
            token = granted.token();
            phase = Phase.HELD;
            decision.complete(true);
        }
    }

    /** Whether this is more than a third of the lease, or of the node's lease: a node is suspect in its last third. */
    private boolean isLongEnough(LockHandle handle) {
        return handle.state() == LockState.HELD
                && request.lease()
                        .map(lease -> handle.remaining().compareTo(lease.dividedBy(3)) > 0)
                        .orElse(true);
    }

    private synchronized void memberLost(LockLost unused) {
        if (phase == Phase.HELD) {
            checkMembers();
        }
    }

    /** Returns the state by the handles of the members. The phase is {@link Phase#HELD}. */
    private LockState checkMembers() {
        LockState state = granted.state();
        if (state == LockState.LOST) {
            lose(granted.lossCause());
        }
        return state;
    }

    private void lose(LossCause cause) {
        phase = Phase.LOST;
        // Its handles may be forgotten, and its thread may acquire the lock anew.
        holds.remove(this);
        loss.tell(cause);
        // What is left would only keep others from a majority.
        granted.release(acquisition.threadName(), LockHandle::release);
    }

    /** Ends the hold, because its locks are closed. */
    synchronized void close() {
        decision.complete(false);
        if (phase == Phase.GATHERING || phase == Phase.HELD) {
            lose(LossCause.SERVICE_CLOSED);
        }
    }

    synchronized boolean isHeld() {
        return Grants.isAlive(state());
    }

    synchronized LockState state() {
        return switch (phase) {
            case HELD -> checkMembers();
            case GATHERING, LOST -> LockState.LOST;
            case GIVEN_BACK -> LockState.RELEASED;
        };
    }

    /** Returns how long a majority is held. */
    synchronized Duration remaining() {
        return isHeld() ? granted.remaining() : Duration.ZERO;
    }

    synchronized QuorumToken token() {
        if (token == null) {
            throw new IllegalStateException("Lock '" + name() + "' was never held");
        }
        return token;
    }

    Loss loss() {
        return loss;
    }

    /** Returns whether this member has granted nothing, or has lost its grant. */
    synchronized boolean isMissing(Member member) {
        return granted.isMissing(member);
    }

    /** Does something with each handle that is held, and returns when a majority has done it. */
    void atMajority(String what, Consumer<LockHandle> work) {
        Map<Integer, LockHandle> held;
        synchronized (this) {
            held = granted.handles();
        }
        MemberResponses<Boolean> done = quorum.renewEach(held, acquisition.threadName(), handle -> {
            work.accept(handle);
            return true;
        });
        if (!isHeld()) {
            throw loss.exception();
        }
        if (done.given().size() < quorum.majority()) {
            throw MemberResponses.failure(name(), what, done.failures());
        }
    }

    /** Makes the hold independent of the thread that has acquired it. */
    void detach() {
        holds.detach(this);
        loss.spare();
    }

    /** Counts a nested acquisition; returns false if the hold is lost, or another thread is about to give it back. */
    synchronized boolean reenter() {
        if (holdCount == 0 || !isHeld()) {
            return false;
        }
        holdCount++;
        return true;
    }

    synchronized int holdCount() {
        return holdCount;
    }

    /** Ends one acquisition. The last one gives the hold back. */
    ReleaseOutcome release() {
        synchronized (this) {
            boolean isLost = state() == LockState.LOST;
            if (--holdCount > 0) {
                return isLost ? ReleaseOutcome.LOST : ReleaseOutcome.STILL_HELD;
            }
        }
        return giveBack();
    }

    /**
     * Releases all members, and waits for their answers. What a member grants later is released then. The hold is lost if so many members
     * say that they had lost their grants that the others are not a majority.
     */
    ReleaseOutcome giveBack() {
        boolean wasLost;
        List<CompletableFuture<ReleaseOutcome>> releases;
        synchronized (this) {
            wasLost = state() == LockState.LOST;
            phase = Phase.GIVEN_BACK;
            holdCount = 0;
            loss.forget();
            releases = granted.release(acquisition.threadName(), this::release);
        }
        holds.remove(this);
        List<ReleaseOutcome> outcomes = MemberResponses.of(releases, releases.size())
                .await(quorum.timeout())
                .given();
        long lost = outcomes.stream().filter(ReleaseOutcome.LOST::equals).count();
        if (wasLost || releases.size() - lost < quorum.majority()) {
            return ReleaseOutcome.LOST;
        }
        boolean isAnswered = outcomes.size() == releases.size()
                && Stream.of(ReleaseOutcome.UNRESOLVED, ReleaseOutcome.DEFERRED).noneMatch(outcomes::contains);
        return isAnswered ? ReleaseOutcome.RELEASED : ReleaseOutcome.UNRESOLVED;
    }

    private ReleaseOutcome release(LockHandle handle) {
        try {
            handle.close();
        } catch (LockLostException lost) {
            // Perhaps the hold learns of the loss only at the release.
            loss.because(lost.lossCause());
        }
        return handle.release();
    }
}
