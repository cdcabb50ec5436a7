package example.plainjpa;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Persistence;
import java.time.Duration;
import java.util.Map;
import javax.sql.DataSource;

/** One node: a persistence unit, a lock service, and what the application does with them. */
final class BoxOffice implements AutoCloseable {

    private final EntityManagerFactory unit;
    private final LockService locks;

    BoxOffice(String node, DataSource database) {
        unit = Persistence.createEntityManagerFactory(
                "concerts", Map.of("jakarta.persistence.nonJtaDataSource", database));
        locks = LockService.builder(unit).application(node).build();
    }

    LockService locks() {
        return locks;
    }

    EntityManagerFactory unit() {
        return unit;
    }

    /**
     * Sells a seat. The service does not see the end of an {@code EntityTransaction}, so the check before its commit is called here.
     *
     * @throws LockNotAcquiredException if others sold seats for longer than {@code atMost}
     * @throws io.github.holdfast.lock.LockLostException if the lock was lost meanwhile; nothing is sold then
     */
    void sellSeat(String concert, Duration atMost, Runnable meanwhile) throws InterruptedException {
        LockRequest request = LockRequest.of("concert:" + concert).waitAtMost(atMost);
        try (LockHandle lock = locks.acquire(request)) {
            unit.runInTransaction(em -> {
                em.find(Concert.class, concert).sellOne();
                meanwhile.run();
                lock.guard(em);
            });
        }
    }

    int seatsLeft(String concert) {
        return unit.callInTransaction(em -> em.find(Concert.class, concert).seatsLeft());
    }

    @Override
    public void close() {
        locks.close();
        unit.close();
    }
}
