package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.test.OnEachDatabase;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Tag;

/** The permits of a semaphore never exceed its limit. */
@Tag("long")
@OnEachDatabase
class SemaphoreHistoryTest extends ShareHistoryContract {

    @Override
    int limit() {
        return 3;
    }

    @Override
    int weight(Use use) {
        return ThreadLocalRandom.current().nextInt(1, limit());
    }

    @Override
    List<Integer> heldTogether() {
        return List.of(1, limit() - 1);
    }

    @Override
    LockHandle acquire(LockService service, String name, int weight, Use use) throws InterruptedException {
        SemaphoreRequest request =
                SemaphoreRequest.of(name).limit(limit()).permits(weight).waitAtMost(ofSeconds(60));
        return service.semaphore(use.lease().map(request::lease).orElse(request))
                .acquire();
    }
}
