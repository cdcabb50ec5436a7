package io.github.holdfast.integration;

import io.github.holdfast.service.LockService;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * Configures the lock registry, unless the application has one. It runs after the starter, which usually defines the lock service.
 * Any other lock service works, too.
 */
@AutoConfiguration(afterName = "io.github.holdfast.autoconfigure.LockServiceAutoConfiguration")
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnClass(LockRegistry.class)
@ConditionalOnSingleCandidate(LockService.class)
@ConditionalOnMissingBean(LockRegistry.class)
@EnableConfigurationProperties(SpringIntegrationProperties.class)
final class LockRegistryAutoConfiguration {

    LockRegistryAutoConfiguration() {}

    @Bean
    HoldfastLockRegistry holdfastLockRegistry(LockService locks, SpringIntegrationProperties properties) {
        return HoldfastLockRegistry.of(locks, checkedRegion(properties));
    }

    static String checkedRegion(SpringIntegrationProperties properties) {
        try {
            return HoldfastLockRegistry.checkedRegion(properties.region());
        } catch (IllegalArgumentException invalid) {
            throw new InvalidConfigurationPropertyValueException(
                    "holdfast.spring-integration.region", properties.region(), String.valueOf(invalid.getMessage()));
        }
    }
}
