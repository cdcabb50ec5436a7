package io.github.holdfast.autoconfigure;

import io.github.holdfast.actuate.LocksEndpoint;
import io.github.holdfast.service.LockService;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ImportRuntimeHints;

/** Configures the endpoint {@code locks}, if Actuator is present and the endpoint is exposed. */
@AutoConfiguration(after = LockServiceAutoConfiguration.class)
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnAvailableEndpoint(LocksEndpoint.class)
@ConditionalOnSingleCandidate(LockService.class)
@EnableConfigurationProperties(HoldfastProperties.class)
@ImportRuntimeHints(EndpointHints.class)
final class LockEndpointAutoConfiguration {

    LockEndpointAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    LocksEndpoint holdfastLocksEndpoint(LockService locks, HoldfastProperties properties) {
        return LocksEndpoint.of(locks, properties.endpoint().forceRelease());
    }
}
