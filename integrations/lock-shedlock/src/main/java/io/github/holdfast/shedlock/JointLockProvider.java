package io.github.holdfast.shedlock;

import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * Acquires each lock from two providers, always in the same order. So two nodes cannot each have one of both locks, and refuse each
 * other. Thread-safe.
 */
final class JointLockProvider implements LockProvider {

    private final LockProvider former;
    private final LockProvider next;

    JointLockProvider(LockProvider former, LockProvider next) {
        this.former = former;
        this.next = next;
    }

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        boolean isExtensible = former instanceof ExtensibleLockProvider;
        // If the second lock is refused, the first one must be free at once: this node did not run the task.
        Optional<SimpleLock> first = former.lock(isExtensible ? withoutAtLeast(configuration) : configuration);
        if (first.isEmpty()) {
            return Optional.empty();
        }
        Optional<JointLock> both = Optional.empty();
        try {
            both = next.lock(configuration).map(second -> new JointLock(configuration, first.get(), second));
        } finally {
            if (both.isEmpty()) {
                first.get().unlock();
            }
        }
        return isExtensible ? both.flatMap(JointLock::withAtLeastOfFormer) : both.map(lock -> lock);
    }

    private static LockConfiguration withoutAtLeast(LockConfiguration configuration) {
        return new LockConfiguration(
                configuration.getLockAtMostUntil().minus(configuration.getLockAtMostFor()),
                configuration.getName(),
                configuration.getLockAtMostFor(),
                Duration.ZERO);
    }

    private static final class JointLock extends AbstractSimpleLock {

        private SimpleLock first;
        private final SimpleLock second;

        JointLock(LockConfiguration configuration, SimpleLock first, SimpleLock second) {
            super(configuration);
            this.first = first;
            this.second = second;
        }

        /** Gives the first lock the {@code lockAtLeastFor} that it was acquired without; empty if that lock is lost. */
        Optional<SimpleLock> withAtLeastOfFormer() {
            if (lockConfiguration.getLockAtLeastFor().isZero()) {
                return Optional.of(this);
            }
            boolean isHeld = false;
            try {
                isHeld = extendFirst(lockConfiguration);
            } catch (RuntimeException | Error thrown) {
                doUnlock();
                throw thrown;
            }
            if (isHeld) {
                return Optional.of(this);
            }
            second.unlock();
            return Optional.empty();
        }

        private boolean extendFirst(LockConfiguration extension) {
            Optional<SimpleLock> extended = first.extend(extension.getLockAtMostFor(), extension.getLockAtLeastFor());
            first = extended.orElse(first);
            return extended.isPresent();
        }

        @Override
        protected void doUnlock() {
            try {
                second.unlock();
            } finally {
                first.unlock();
            }
        }

        @Override
        protected Optional<SimpleLock> doExtend(LockConfiguration extension) {
            if (!extendFirst(extension)) {
                second.unlock();
                return Optional.empty();
            }
            Optional<SimpleLock> extended = second.extend(extension.getLockAtMostFor(), extension.getLockAtLeastFor());
            if (extended.isEmpty()) {
                first.unlock();
            }
            return extended.map(extendedSecond -> new JointLock(extension, first, extendedSecond));
        }
    }
}
