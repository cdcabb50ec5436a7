package io.github.holdfast.autoconfigure;

import io.github.holdfast.annotation.Locked;
import io.github.holdfast.annotation.LockedConfiguration;
import io.github.holdfast.annotation.ScheduledLock;
import io.github.holdfast.annotation.ScheduledLockConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Import;

/**
 * Has {@link Locked} and {@link ScheduledLock} methods locked. Also with {@code holdfast.enabled=false}: an application that has such methods does not start
 * then, rather than run them without their locks.
 */
@AutoConfiguration(after = LockServiceAutoConfiguration.class)
@Import({LockedConfiguration.class, ScheduledLockConfiguration.class})
public final class LockedAutoConfiguration {

    LockedAutoConfiguration() {}
}
