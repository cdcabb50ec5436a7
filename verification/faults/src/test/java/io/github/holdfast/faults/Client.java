package io.github.holdfast.faults;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** One thread that uses locks at random, and records what it sees. */
final class Client {

    static final int NAMES = 4;

    private static final int USUAL_WAIT_MILLIS = 400;

    /** Longer than a node lives after its last heartbeat: a waiter outlives the holder and others that wait. */
    private static final int LONG_WAIT_MILLIS = 3000;

    private final LockService locks;
    private final Counter counter;
    private final TransactionTemplate transaction;
    private final DataSource pool;
    private final Recorder recorder;
    private final Duration lease = Fleet.NODE_LEASE;
    private final Random random;
    private final Reader reader;

    Client(
            LockService locks,
            EntityManagerFactory unit,
            JpaTransactionManager manager,
            DataSource pool,
            Recorder recorder,
            Random random) {
        this.locks = locks;
        this.counter = new Counter(unit);
        this.transaction = new TransactionTemplate(manager);
        this.pool = pool;
        this.recorder = recorder;
        this.random = random;
        this.reader = new Reader(this, transaction, counter, recorder, random);
    }

    static String name(int number) {
        return "lock-" + number;
    }

    void work() {
        while (!Worker.isStopped()) {
            String name = name(random.nextInt(NAMES));
            switch (random.nextInt(13)) {
                case 0, 1 -> rowLock(name);
                case 10, 11, 12 -> reader.share(name);
                case 2, 3, 4, 5 -> lease(request(name).lease(lease.dividedBy(1 + random.nextInt(4))), name);
                default -> lease(request(name), name);
            }
            pause(20);
            // Whoever was interrupted has its next operation undisturbed.
            boolean unused = Thread.interrupted();
        }
    }

    /** Some have hardly any time, and some have much. */
    Duration patience() {
        return Duration.ofMillis(
                switch (random.nextInt(5)) {
                    case 0 -> random.nextInt(6);
                    case 1 -> LONG_WAIT_MILLIS;
                    default -> USUAL_WAIT_MILLIS;
                });
    }

    /**
     * A third is fair.
     *
     * <p>With the property {@code faults.unfenced}, which breaks G, to see that a run finds it.
     */
    private LockRequest request(String name) {
        LockRequest request = LockRequest.of(name);
        LockRequest inOrder = random.nextInt(3) == 0 ? request.fair() : request;
        return Boolean.getBoolean(Fleet.UNFENCED) ? inOrder.withoutFence() : inOrder;
    }

    void pause(int atMostMillis) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1L + random.nextInt(atMostMillis)));
    }

    private void rowLock(String name) {
        LockRequest request = LockRequest.of(name).rowLock().waitAtMost(patience());
        long acquire = recorder.begin(Action.ROW_ACQUIRE, Facts.of(name));
        // It has no token to tell it from others by.
        Facts facts = Facts.of(name).token(acquire);
        LockHandle lock = acquire(request, acquire, Action.ROW_ACQUIRE, facts);
        if (lock == null) {
            return;
        }
        recorder.end(acquire, Action.ROW_ACQUIRE, Phase.OK, facts);
        pause(40);
        long release = recorder.begin(Action.ROW_RELEASE, facts);
        Phase outcome = lock.release() == ReleaseOutcome.RELEASED ? Phase.OK : Phase.FAIL;
        recorder.end(release, Action.ROW_RELEASE, outcome, facts);
    }

    private void lease(LockRequest request, String name) {
        long acquire = recorder.begin(Action.ACQUIRE, Facts.of(name));
        LockHandle lock = acquire(request.waitAtMost(patience()), acquire, Action.ACQUIRE, Facts.of(name));
        if (lock == null) {
            return;
        }
        long answered = recorder.now();
        recorder.write(acquire, Action.ACQUIRE, Phase.OK, answered, known(lock));
        for (int i = random.nextInt(5); i > 0; i--) {
            switch (random.nextInt(8)) {
                case 0, 1, 2 -> commit(lock);
                case 3 -> nested(request, lock);
                case 4 -> renew(request, lock);
                case 5 -> pause((int) lease.dividedBy(4).toMillis());
                default -> pause(50);
            }
            look(lock);
        }
        release(lock, 0);
    }

    /** Returns null if it was not acquired, and records that. */
    @Nullable
    LockHandle acquire(LockRequest request, long operation, Action action, Facts facts) {
        try {
            return locks.acquire(request);
        } catch (LockNotAcquiredException refused) {
            recorder.end(operation, action, Phase.REFUSED, facts);
        } catch (LockStoreException | LockLostException | InterruptedException failed) {
            recorder.end(operation, action, Phase.FAIL, facts);
            System.out.println(operation + " failed: " + failed);
        } catch (IllegalStateException failed) {
            if (!Worker.isClosing()) {
                throw failed;
            }
            recorder.end(operation, action, Phase.FAIL, facts);
        }
        return null;
    }

    private Facts known(LockHandle lock) {
        Facts believed = believed(lock).owner(lock.owner()).holds(lock.holdCount());
        try (Connection connection = pool.getConnection();
                PreparedStatement query = connection.prepareStatement(
                        "select version, node_id from distributed_lock where name = ? and fencing_token = ?")) {
            query.setString(1, lock.name());
            query.setLong(2, lock.fencingToken());
            try (ResultSet row = query.executeQuery()) {
                Facts stored = row.next()
                        ? believed.grant(row.getLong(1), lock.fencingToken()).node(row.getString(2))
                        : believed;
                return stored.databaseMicros(TimeUnit.MILLISECONDS.toMicros(
                        locks.admin().databaseClock().toEpochMilli()));
            }
        } catch (SQLException | LockStoreException | IllegalStateException unknown) {
            return believed;
        }
    }

    Facts believed(LockHandle lock) {
        long before = recorder.now();
        return Facts.of(lock.name())
                .token(lock.fencingToken())
                .validUntil(before + lock.remaining().toNanos());
    }

    private void look(LockHandle lock) {
        long look = recorder.begin(Action.LOOK, Facts.of(lock.name()).token(lock.fencingToken()));
        boolean isHeld = !lock.remaining().isZero();
        recorder.end(look, Action.LOOK, isHeld ? Phase.OK : Phase.FAIL, believed(lock));
    }

    private void renew(LockRequest request, LockHandle lock) {
        long renew = recorder.begin(Action.RENEW, Facts.of(lock.name()).token(lock.fencingToken()));
        Phase outcome = Phase.OK;
        try {
            lock.renew(request.lease().orElse(lease));
        } catch (LockLostException lost) {
            outcome = Phase.FAIL;
        } catch (LockStoreException unknown) {
            outcome = Phase.UNKNOWN;
        }
        recorder.end(renew, Action.RENEW, outcome, believed(lock));
    }

    /** Entered again by the same thread, unless the lock is lost: then it is acquired anew, or not. */
    private void nested(LockRequest request, LockHandle outer) {
        Facts facts = Facts.of(outer.name());
        Facts ofOuter = facts.token(outer.fencingToken());
        long asked = recorder.now();
        long enter = recorder.begun(Action.REENTER, asked, ofOuter);
        LockHandle inner = acquire(request.waitAtMost(patience()), enter, Action.REENTER, ofOuter);
        if (inner == null) {
            return;
        }
        long answered = recorder.now();
        boolean isSame = inner.fencingToken() == outer.fencingToken();
        if (isSame) {
            recorder.write(enter, Action.REENTER, Phase.OK, answered, believed(inner));
        } else {
            recorder.write(enter, Action.REENTER, Phase.FAIL, answered, ofOuter);
            long acquire = recorder.begun(Action.ACQUIRE, asked, facts);
            recorder.end(acquire, Action.ACQUIRE, Phase.OK, known(inner));
        }
        pause(20);
        look(inner);
        release(inner, isSame ? 1 : 0);
    }

    private void release(LockHandle lock, long left) {
        Facts facts = Facts.of(lock.name()).token(lock.fencingToken()).holds(left);
        long release = recorder.begin(Action.RELEASE, facts);
        ReleaseOutcome outcome = lock.release();
        recorder.end(release, Action.RELEASE, phase(outcome), facts);
    }

    static Phase phase(ReleaseOutcome outcome) {
        return switch (outcome) {
            case RELEASED, KEPT, STILL_HELD, DEFERRED -> Phase.OK;
            case LOST -> Phase.FAIL;
            case UNRESOLVED -> Phase.UNKNOWN;
        };
    }

    /** Counts one up, from what it has read in the same transaction. */
    private void commit(LockHandle lock) {
        Facts facts = Facts.of(lock.name()).token(lock.fencingToken());
        AtomicLong written = new AtomicLong(Facts.UNSET);
        long commit = recorder.begin(Action.COMMIT, facts);
        Phase outcome;
        try {
            transaction.executeWithoutResult(status -> written.set(count(lock.name())));
            outcome = Phase.OK;
        } catch (LockLostException lost) {
            outcome = Phase.FAIL;
        } catch (RuntimeException failed) {
            outcome = written.get() == Facts.UNSET ? Phase.FAIL : Phase.UNKNOWN;
        }
        recorder.end(commit, Action.COMMIT, outcome, facts.value(written.get()));
    }

    private long count(String name) {
        long counted = counter.read(name) + 1;
        pauseInTransaction();
        counter.write(name, counted);
        return counted;
    }

    /** Sometimes longer than the lease: then the guard decides. */
    void pauseInTransaction() {
        pause(random.nextInt(6) == 0 ? (int) lease.toMillis() : 20);
    }
}
