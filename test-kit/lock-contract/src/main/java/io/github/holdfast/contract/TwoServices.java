package io.github.holdfast.contract;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;

/** Two lock services on the user's database, and the locks that a test holds. */
abstract class TwoServices {

    /** Longer than anything takes that must happen. */
    static final Duration SOON = ofSeconds(30);

    /** A lease that ends within the test. */
    static final Duration SHORT = ofMillis(500);

    private final Queue<LockHandle> handles = new ConcurrentLinkedQueue<>();

    abstract DatabaseUnderTest database();

    /** Returns the service that fences transactions. */
    abstract LockService one();

    /** Returns the service that does not. */
    abstract LockService other();

    /** Returns one of the two services. */
    final LockService service(int number) {
        return number % 2 == 0 ? one() : other();
    }

    final LockRequest request(String name) {
        return LockRequest.of(database().name(name));
    }

    /** Acquires a free lock, again if a short lease ended before the answer: the machine of the test may be busy. */
    final LockHandle take(LockService locks, LockRequest request) {
        long deadline = System.nanoTime() + SOON.toNanos();
        while (true) {
            try {
                return keep(locks.tryAcquire(request)
                        .orElseThrow(() -> new AssertionError("Not granted although it is free: " + request)));
            } catch (LockLostException tooSlow) {
                if (System.nanoTime() - deadline > 0) {
                    throw tooSlow;
                }
            }
        }
    }

    /** Acquires a lock that becomes free soon. */
    final LockHandle await(LockService locks, LockRequest request) {
        try {
            return keep(locks.acquire(request));
        } catch (InterruptedException thrown) {
            throw new IllegalStateException(thrown);
        }
    }

    /** Lets the lock be released after the test. */
    final LockHandle keep(LockHandle lock) {
        handles.add(lock);
        return lock;
    }

    /**
     * Releases the locks, even after a failed test. Otherwise the thread could keep a lost lock, and then no transaction commits
     * on it.
     */
    @AfterEach
    void release() {
        handles.forEach(LockHandle::release);
        handles.clear();
    }
}
