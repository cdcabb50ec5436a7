package io.github.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.persistence.EntityManager;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** An application can put a double in the place of a lock service; these are what it inherits. */
class LocksTest {

    private final List<String> events = new ArrayList<>();
    private final Locks locks = new TestLocks();
    private final LockRequest request = LockRequest.of("order:1");

    @Test
    void aTaskRunsUnderTheLockAndItsResultIsReturned() throws Exception {
        String result = locks.call(request, lock -> {
            events.add("run under " + lock.name());
            return "done";
        });
        assertThat(result).isEqualTo("done");
        assertThat(events).containsExactly("acquire order:1", "run under order:1", "close order:1");
    }

    @Test
    void whatATaskThrowsReachesTheCallerAfterTheRelease() {
        assertThatThrownBy(() -> locks.call(request, lock -> {
                    throw new IOException("disk");
                }))
                .isInstanceOf(IOException.class)
                .hasMessage("disk");
        assertThat(events).containsExactly("acquire order:1", "close order:1");
    }

    @Test
    void anActionRunsUnderTheLock() throws Exception {
        locks.run(request, lock -> events.add("run under " + lock.name()));
        assertThat(events).containsExactly("acquire order:1", "run under order:1", "close order:1");
    }

    @Test
    void severalHandlesCloseInReverse() throws Exception {
        locks.acquireAll(List.of(request, LockRequest.of("order:2"))).close();
        assertThat(events).containsExactly("close order:2", "close order:1");
    }

    @Test
    void severalHandlesAreValidTogetherAfterASlowRenewalOfOne() {
        AtomicLong clock = new AtomicLong();
        LockHandles both = LockHandles.of(List.of(lease(1200, clock), lease(100, clock)));
        both.ensureValidFor(Duration.ofSeconds(1));
        assertThat(both.remaining()).isGreaterThan(Duration.ofSeconds(1));
    }

    /** A lease that lasts for this many milliseconds, and whose renewal takes half a second. */
    private static LockHandle lease(long lasts, AtomicLong clock) {
        AtomicLong end = new AtomicLong(lasts);
        return (LockHandle) Proxy.newProxyInstance(
                LockHandle.class.getClassLoader(), new Class<?>[] {LockHandle.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("remaining")) {
                        return Duration.ofMillis(end.get() - clock.get());
                    }
                    Duration asked = (Duration) arguments[0];
                    if (end.get() - clock.get() < asked.toMillis()) {
                        end.set(clock.addAndGet(500) + 60_000);
                    }
                    return null;
                });
    }

    private final class TestLocks implements Locks {

        @Override
        public Optional<LockHandle> tryAcquire(LockRequest wanted) {
            return Optional.of(acquire(wanted));
        }

        @Override
        public LockHandle acquire(LockRequest wanted) {
            events.add("acquire " + wanted.name());
            return new Handle(wanted.name());
        }

        @Override
        public LockHandles acquireAll(Collection<LockRequest> requests) {
            return LockHandles.of(requests.stream()
                    .map(wanted -> (LockHandle) new Handle(wanted.name()))
                    .toList());
        }

        @Override
        public Lock asLock(String name) {
            throw new UnsupportedOperationException(name);
        }

        @Override
        public ReadWriteLock asReadWriteLock(String name) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Optional<LockInfo> find(String name) {
            return Optional.empty();
        }
    }

    private final class Handle implements LockHandle {

        private final String name;

        Handle(String name) {
            this.name = name;
        }

        @Override
        public LockMode mode() {
            return LockMode.EXCLUSIVE;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public String owner() {
            return "double";
        }

        @Override
        public long fencingToken() {
            return 1;
        }

        @Override
        public int holdCount() {
            return 1;
        }

        @Override
        public LockState state() {
            return LockState.HELD;
        }

        @Override
        public Duration remaining() {
            return LockRequest.LONGEST_DURATION;
        }

        @Override
        public void renew(Duration lease) {}

        @Override
        public void ensureValidFor(Duration duration) {}

        @Override
        public void guard() {}

        @Override
        public void guard(EntityManager entityManager) {}

        @Override
        public boolean isFenced() {
            return false;
        }

        @Override
        public LockHandle detach() {
            return this;
        }

        @Override
        public LockHandle downgrade() {
            throw new UnsupportedOperationException();
        }

        @Override
        public LockHandle onLost(Consumer<LockLost> handler) {
            return this;
        }

        @Override
        public ReleaseOutcome release() {
            return ReleaseOutcome.RELEASED;
        }

        @Override
        public void close() {
            events.add("close " + name);
        }
    }
}
