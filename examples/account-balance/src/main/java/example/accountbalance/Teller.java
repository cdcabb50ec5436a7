package example.accountbalance;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.OptimisticLockException;
import jakarta.persistence.PersistenceException;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;

/**
 * Withdraws in two ways. Trying again is right where others are seldom faster and the work is only in the database; a lock is
 * right where they often are, where the work is expensive or has effects outside, and where no request may be turned away.
 */
final class Teller {

    private static final int TRIES = 5;

    private final EntityManagerFactory unit;
    private final LockService locks;
    private final LongAdder repetitions = new LongAdder();

    Teller(EntityManagerFactory unit, LockService locks) {
        this.unit = unit;
        this.locks = locks;
    }

    /** How often others were faster. */
    long repetitions() {
        return repetitions.sum();
    }

    /**
     * Withdraws, and does it again if another transaction has changed the account meanwhile.
     *
     * @throws IllegalArgumentException if there is not enough
     * @throws TooBusyException if another transaction has, each time
     */
    void withdrawTryingAgain(String owner, long amount) throws InterruptedException {
        for (int tries = 1; ; tries++) {
            try {
                withdraw(owner, amount);
                return;
            } catch (PersistenceException failed) {
                if (!isConflict(failed)) {
                    throw failed;
                }
                repetitions.increment();
                if (tries == TRIES) {
                    throw new TooBusyException(owner, failed);
                }
                // At random, or the transactions that have collided collide again.
                TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextLong(2L << tries));
            }
        }
    }

    /**
     * Withdraws when it is this thread's turn.
     *
     * @throws IllegalArgumentException if there is not enough
     * @throws io.github.holdfast.lock.LockNotAcquiredException if it was not for 10 seconds
     */
    void withdrawUnderLock(String owner, long amount) throws InterruptedException {
        try (LockHandle lock = locks.acquire(LockRequest.of("account:" + owner))) {
            unit.runInTransaction(em -> {
                em.find(Account.class, owner).withdraw(amount);
                lock.guard(em);
            });
        }
    }

    private void withdraw(String owner, long amount) {
        unit.runInTransaction(em -> em.find(Account.class, owner).withdraw(amount));
    }

    /** Thrown by the commit, as the cause of what that throws. */
    private static boolean isConflict(Throwable failed) {
        return Stream.iterate(failed, Objects::nonNull, Throwable::getCause)
                .anyMatch(OptimisticLockException.class::isInstance);
    }

    /** The account was changed by others each time. */
    static final class TooBusyException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private TooBusyException(String owner, Throwable last) {
            super("The account of " + owner + " was changed by others " + TRIES + " times in a row", last);
        }
    }
}
