package example.quickstart;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Sells lamps until the stock is empty. This is the code of an application, with and without a lock. */
final class Seller {

    /**
     * Workers do not get the lock in the order of their requests. On a busy machine, one may wait longer than the default of 10
     * seconds.
     */
    private static final LockRequest STOCK =
            LockRequest.of("stock:" + Shop.LAMP).waitAtMost(Duration.ofMinutes(2));

    private final String worker;
    private final EntityManagerFactory entityManagerFactory;
    private final LockService locks;

    Seller(String worker, EntityManagerFactory entityManagerFactory, LockService locks) {
        this.worker = worker;
        this.entityManagerFactory = entityManagerFactory;
        this.locks = locks;
    }

    void sellOutWithoutLock() {
        do {
            awaitCustomer();
        } while (sellOne(null, Duration.ZERO));
    }

    void sellOutUnderLock() throws InterruptedException {
        do {
            awaitCustomer();
        } while (sellOneUnderLock());
    }

    /** Acquires the lock before the transaction begins, and releases it after the commit. */
    private boolean sellOneUnderLock() throws InterruptedException {
        long asked = System.nanoTime();
        try (LockHandle lock = locks.acquire(STOCK)) {
            return sellOne(lock.fencingToken(), Duration.ofNanos(System.nanoTime() - asked));
        }
    }

    /** Reads the stock, works for a while, and then writes the stock minus one. */
    private boolean sellOne(@Nullable Long fencingToken, Duration waited) {
        return entityManagerFactory.callInTransaction(em -> {
            Item lamp = em.find(Item.class, Shop.LAMP);
            if (lamp.stock() == 0) {
                return false;
            }
            pause(Duration.ofMillis(5));
            lamp.sellOne();
            em.persist(new Sale(worker, fencingToken, waited));
            return true;
        });
    }

    private static void awaitCustomer() {
        pause(Duration.ofMillis(ThreadLocalRandom.current().nextInt(10, 40)));
    }

    private static void pause(Duration duration) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(duration.toMillis()));
    }
}
