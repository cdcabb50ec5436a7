package io.github.holdfast.autoconfigure;

import io.github.holdfast.actuate.LockHealthIndicator;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.service.LockService;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.context.annotation.Bean;

/** Configures the health indicator {@code locks}, unless {@code management.health.locks.enabled} is false. */
@AutoConfiguration(after = LockServiceAutoConfiguration.class)
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnClass(ConditionalOnEnabledHealthIndicator.class)
@ConditionalOnEnabledHealthIndicator("locks")
@ConditionalOnSingleCandidate(LockService.class)
final class LockHealthAutoConfiguration {

    LockHealthAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean(name = "locksHealthIndicator")
    LockHealthIndicator locksHealthIndicator(
            ObjectProvider<LockService> locks, ObjectProvider<LeaderElection> elections) {
        return LockHealthIndicator.of(locks::getObject, elections::stream);
    }
}
