package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.OnEachDatabase;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;

/** Whoever has a lock alone has all of it, and whoever shares it has one part. So nobody shares what somebody has alone. */
@Tag("long")
@OnEachDatabase
class SharedLockHistoryTest extends ShareHistoryContract {

    /** More than there are threads. */
    private static final int ALL = 100;

    private final AtomicInteger turns = new AtomicInteger();

    @Override
    int limit() {
        return ALL;
    }

    @Override
    int weight(Use use) {
        // How a holder of the whole dies is tested elsewhere.
        return use == Use.DIE || turns.getAndIncrement() % 4 > 0 ? 1 : ALL;
    }

    /** At least these are exchanged, however slow the machine is. */
    @Override
    int firstWeight(Use use) {
        return use == Use.RELEASE_LEASE || use == Use.RELEASE_FROM_NODE ? ALL : 1;
    }

    @Override
    List<Integer> heldTogether() {
        return List.of(1, 1);
    }

    @Override
    LockHandle acquire(LockService service, String name, int weight, Use use) throws InterruptedException {
        LockRequest all = LockRequest.of(name).waitAtMost(ofSeconds(60));
        LockRequest request = weight == ALL ? all : all.shared();
        // A thread whose share is dead does not know yet, and would re-enter it.
        return service.acquire(use.lease().map(request::lease).orElse(request)).detach();
    }

    @Override
    Optional<LockHandle> exchanged(LockHandle held) {
        return held.mode() == LockMode.EXCLUSIVE ? Optional.of(held.downgrade().detach()) : Optional.empty();
    }

    @Override
    boolean mayHaveJoined(Belief belief) {
        return belief.use() == Use.RELEASE_FROM_NODE && belief.weight() == 1;
    }

    @Override
    void checkVariety(List<Belief> history) {
        assertThat(history).extracting(Belief::weight).contains(1, ALL);
        assertThat(history)
                .as("an exclusive hold was downgraded")
                .anyMatch(one -> history.stream()
                        .anyMatch(next -> one.weight() == ALL
                                && next.weight() == 1
                                && next.token() == one.token() + 1
                                && next.calledAt() >= one.until()
                                && next.use() == one.use()));
        assertThat(history)
                .as("several share the lock at once")
                .anyMatch(one -> history.stream()
                        .anyMatch(other -> other.token() != one.token()
                                && other.weight() == 1
                                && one.weight() == 1
                                && other.from() < one.until()
                                && one.from() < other.until()));
    }
}
