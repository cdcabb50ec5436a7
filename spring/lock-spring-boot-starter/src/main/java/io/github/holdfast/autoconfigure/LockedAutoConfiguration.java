package io.github.holdfast.autoconfigure;

import io.github.holdfast.annotation.LeaderOnly;
import io.github.holdfast.annotation.LeaderOnlyConfiguration;
import io.github.holdfast.annotation.Locked;
import io.github.holdfast.annotation.LockedConfiguration;
import io.github.holdfast.annotation.ScheduledLock;
import io.github.holdfast.annotation.ScheduledLockConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Import;

/**
 * Enables {@link Locked}, {@link ScheduledLock} and {@link LeaderOnly} methods. It also applies with {@code holdfast.enabled=false}. An application
 * with such methods then does not start. Otherwise it would run them without their locks.
 */
@AutoConfiguration(after = LockServiceAutoConfiguration.class)
@Import({LockedConfiguration.class, ScheduledLockConfiguration.class, LeaderOnlyConfiguration.class})
final class LockedAutoConfiguration {

    LockedAutoConfiguration() {}
}
