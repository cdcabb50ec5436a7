package io.github.holdfast.shedlock;

import io.github.holdfast.service.LockService;
import net.javacrumbs.shedlock.core.LockProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/**
 * Configures ShedLock's {@code LockProvider}, unless the application defines its own. It runs after the starter, which usually defines
 * the lock service. Any other lock service works, too.
 */
@AutoConfiguration(afterName = "io.github.holdfast.autoconfigure.LockServiceAutoConfiguration")
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnClass(LockProvider.class)
@ConditionalOnSingleCandidate(LockService.class)
final class ShedLockAutoConfiguration {

    ShedLockAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean(LockProvider.class)
    HoldfastLockProvider holdfastLockProvider(LockService locks) {
        return HoldfastLockProvider.of(locks);
    }
}
