package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * Locks that a majority of independent databases grants. <strong>You probably do not need them:</strong> a lock of one database is
 * simpler, cheaper, and can fence transactions. The page on quorums says when they help.
 *
 * <p><strong>Guarantee.</strong> Of 2f + 1 members, any f may be away. At most one owner holds a lock at a time, under these conditions:
 * the holder obeys {@link LockHandle#state()}; the clocks of processes and databases run at nearly the same rate; commits are durable;
 * and the members that the holder does not hold, and those that have forgotten its grant, are together at most f. A member forgets in
 * a failover that loses commits, for example.
 *
 * <p><strong>Tokens.</strong> {@link QuorumToken} orders all grants of a name, unless a member that two grants share has lost
 * commits in between. {@link LockHandle#fencingToken()} is not supported. {@link io.github.holdfast.lock.LockLost} and {@link LockInfo}
 * have 0 in its place.
 *
 * <p><strong>Requests</strong> can have a lease, a wait time, {@link LockRequest#notReentrant}, {@link LockRequest#interruptOnLoss} and
 * {@link LockRequest#withoutFence}. Other requests are refused. Transactions are never fenced. A release inside a transaction is not
 * deferred: release the lock after the commit.
 *
 * <p><strong>Handlers</strong> of {@link LockHandle#onLost} run on threads of the quorum, perhaps several at the same time. An
 * exception of a handler is not logged: it goes to the {@linkplain Thread#setDefaultUncaughtExceptionHandler default handler} of the process.
 *
 * <p>All processes must use the same members in the same order. Thread-safe. It does not close the services.
 *
 * <pre>{@code
 * try (QuorumLocks locks = QuorumLocks.of(List.of(berlin, oslo, madrid))) {
 *     locks.run(LockRequest.of("payout"), lock -> bank.pay(QuorumToken.of(lock)));
 * }
 * }</pre>
 */
public final class QuorumLocks implements Locks, AutoCloseable {

    private static final int LONGEST_PAUSE = 5;

    private final Quorum quorum;
    private final MemberHolds holds = new MemberHolds();
    private final QuorumLock.OfThread views = new QuorumLock.OfThread();
    private final ScheduledExecutorService healing;
    private final CountDownLatch closed = new CountDownLatch(1);

    QuorumLocks(List<LockService> services, Duration memberTimeout, HealingPauses healingPauses) {
        ThreadFactory daemons = QuorumLocks::daemon;
        var threads = Executors.newCachedThreadPool(daemons);
        List<Member> members = new ArrayList<>();
        services.forEach(service -> members.add(new Member(members.size(), service, threads, memberTimeout)));
        quorum = new Quorum(List.copyOf(members), memberTimeout, healingPauses, threads);
        try {
            MemberCheck.check(quorum);
        } catch (RuntimeException thrown) {
            threads.shutdown();
            throw thrown;
        }
        healing = Executors.newSingleThreadScheduledExecutor(daemons);
        ScheduledFuture<?> unused = healing.scheduleWithFixedDelay(holds::heal, 250, 250, TimeUnit.MILLISECONDS);
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(null, work, "holdfast-quorum", 0, false);
        thread.setDaemon(true);
        thread.setContextClassLoader(QuorumLocks.class.getClassLoader());
        return thread;
    }

    /**
     * Returns locks over these members, with the default settings.
     *
     * @param members an odd number of services, at least 3, each on a database that fails independently of the others. Their order is
     *     part of the {@linkplain QuorumToken tokens}
     * @throws IllegalArgumentException if the number is wrong, or two are seen to have the same database
     */
    public static QuorumLocks of(List<LockService> members) {
        return builder(members).build();
    }

    /**
     * Returns a builder for locks over these members.
     *
     * @param members as for {@link #of}
     * @throws IllegalArgumentException if the number is wrong, or a service occurs twice
     */
    public static QuorumLocksBuilder builder(List<LockService> members) {
        return new QuorumLocksBuilder(members);
    }

    /**
     * {@inheritDoc}
     *
     * <p>It asks all members at once, and each of them costs what {@link LockService#tryAcquire} says. It returns when a majority has
     * granted, or the timeout of a member has passed. If another client requests the lock at the same time, possibly none gets a majority.
     *
     * @throws io.github.holdfast.lock.LockStoreException if fewer than a majority answered
     * @throws UnsupportedOperationException if the request is for what only one database can give
     */
    @Override
    public Optional<LockHandle> tryAcquire(LockRequest request) {
        if (request.waitTime().isPresent()) {
            throw new IllegalArgumentException("tryAcquire never waits, but the request for lock '" + request.name()
                    + "' has a wait time: use acquire");
        }
        RequestRules.check(request);
        Optional<LockHandle> nested = holds.reenter(request);
        if (nested.isPresent()) {
            return nested;
        }
        QuorumHold hold = new QuorumHold(quorum, RequestRules.forMember(request), Acquirer.current(), holds);
        MajorityAttempt attempt = begin(hold);
        MemberResponses.uninterruptibly(hold.decision(), quorum.timeout());
        if (hold.isHeld()) {
            return Optional.of(handle(hold, request));
        }
        hold.giveBack();
        checkOpen();
        RuntimeException failure = attempt.failure(Duration.ZERO);
        if (failure instanceof LockNotAcquiredException) {
            return Optional.empty();
        }
        throw failure;
    }

    /**
     * {@inheritDoc}
     *
     * <p>It asks all members at once, again and again, with a random pause in between. No thread waits in the queue of a member, so there
     * is no order among the waiters, and no wake-up. After an interrupt, what a member grants late is released then. It ends at once if a
     * majority can never grant, such as when their tables are missing.
     *
     * @throws io.github.holdfast.lock.LockStoreException if fewer than a majority answered the first attempt, or the last one that had
     *     the whole timeout of a member
     * @throws UnsupportedOperationException if the request is for what only one database can give
     */
    @Override
    public LockHandle acquire(LockRequest request) throws InterruptedException {
        RequestRules.check(request);
        // A future that is complete already does not look for an interrupt.
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Optional<LockHandle> nested = holds.reenter(request);
        if (nested.isPresent()) {
            return nested.get();
        }
        LockRequest forMember = RequestRules.forMember(request);
        Duration wait = request.waitTime().orElse(LockRequest.DEFAULT_WAIT);
        long start = System.nanoTime();
        Duration budget = wait.isZero() ? quorum.timeout() : quorum.timeout(wait);
        MajorityAttempt telling = null;
        for (int round = 1; ; round++) {
            QuorumHold hold = new QuorumHold(quorum, forMember, Acquirer.current(), holds);
            MajorityAttempt attempt = begin(hold);
            if (hold.awaitDecision(budget)) {
                return handle(hold, request);
            }
            hold.giveBack();
            // Members that had less time than usual to answer are not away.
            telling = telling == null || budget.equals(quorum.timeout()) ? attempt : telling;
            Duration waited = Duration.ofNanos(System.nanoTime() - start);
            if (attempt.isFutile()) {
                throw attempt.failure(waited);
            }
            if (waited.compareTo(wait) >= 0) {
                throw telling.failure(waited);
            }
            long pause = ThreadLocalRandom.current().nextLong(50, 200) * Math.min(round, LONGEST_PAUSE);
            closed.await(Math.min(pause, wait.minus(waited).toMillis() + 1), TimeUnit.MILLISECONDS);
            checkOpen();
            budget = quorum.timeout(wait.minusNanos(System.nanoTime() - start));
        }
    }

    private MajorityAttempt begin(QuorumHold hold) {
        checkOpen();
        MajorityAttempt attempt = new MajorityAttempt(quorum, hold);
        holds.add(hold, attempt);
        attempt.begin();
        return attempt;
    }

    private LockHandle handle(QuorumHold hold, LockRequest request) {
        if (closed.getCount() == 0) {
            hold.giveBack();
            checkOpen();
        }
        holds.attach(hold);
        if (request.isInterruptedOnLoss()) {
            hold.loss().interrupt(hold.acquirer());
        }
        return new QuorumHandle(hold);
    }

    private void checkOpen() {
        if (closed.getCount() == 0) {
            throw new IllegalStateException("The QuorumLocks are closed");
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws UnsupportedOperationException if a request is for what only one database can give
     */
    @Override
    public LockHandles acquireAll(Collection<LockRequest> requests) throws InterruptedException {
        List<LockRequest> sorted = requests.stream()
                .sorted(Comparator.comparing(LockRequest::name))
                .toList();
        long names = sorted.stream().map(LockRequest::name).distinct().count();
        if (names == 0 || names < sorted.size()) {
            throw new IllegalArgumentException("Each request needs another name, and one is needed at least");
        }
        Duration wait = sorted.stream()
                .map(request -> request.waitTime().orElse(LockRequest.DEFAULT_WAIT))
                .min(Comparator.naturalOrder())
                .orElseThrow();
        long start = System.nanoTime();
        List<LockHandle> handles = new ArrayList<>();
        try {
            for (LockRequest request : sorted) {
                Duration left = wait.minusNanos(System.nanoTime() - start);
                handles.add(acquire(request.waitAtMost(left.isNegative() ? Duration.ZERO : left)));
            }
            LockHandles all = LockHandles.of(handles);
            // The lease of an earlier one may have ended during the wait for a later one.
            if (all.remaining().isZero()) {
                all.ensureValidFor(Duration.ZERO);
            }
            return all;
        } catch (InterruptedException | RuntimeException | Error thrown) {
            try {
                LockHandles.of(handles).release();
            } catch (RuntimeException | Error alsoFailed) {
                if (alsoFailed != thrown) {
                    thrown.addSuppressed(alsoFailed);
                }
            }
            throw thrown;
        }
    }

    @Override
    public Lock asLock(String name) {
        return new QuorumLock(this, views, LockRequest.of(name));
    }

    /**
     * Not supported: the members share locks with each other's readers in no common order.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    public ReadWriteLock asReadWriteLock(String name) {
        throw RequestRules.unsupported(name, "shared");
    }

    /**
     * Returns the owner that holds the lock at a majority of the members. Members that do not answer count for it. Its fencing token
     * is 0. Its other values are those of the member that has held the lock for it longest, except that it has the owner of the
     * quorum's handle. A lock that was acquired at a single member is not seen.
     *
     * <p>It costs what {@link LockService#find} says, at each member. The view is not of one moment.
     *
     * @return empty if no owner holds the lock at a majority
     * @throws io.github.holdfast.lock.LockStoreException if fewer than a majority answered
     */
    @Override
    public Optional<LockInfo> find(String name) {
        LockRequest.of(name);
        checkOpen();
        MemberResponses<Optional<LockInfo>> answers =
                quorum.askAll(Acquirer.current().threadName(), locks -> locks.find(name));
        List<Optional<LockInfo>> given = answers.given();
        if (given.size() < quorum.majority()) {
            throw MemberResponses.failure(
                    name, "was not found, because only " + given.size() + " members answered", answers.failures());
        }
        return MajorityView.of(given, quorum).map(MajorityView::info);
    }

    /**
     * Marks all locks as lost and releases them. Acquisitions that wait fail. It waits until the members have answered, for at most the
     * timeout of a member: the threads are daemons, so what they have not done by then may end with the process. A second call changes
     * nothing.
     */
    @Override
    public void close() {
        closed.countDown();
        healing.shutdownNow();
        holds.forEach(QuorumHold::close);
        quorum.endThreads();
    }
}
