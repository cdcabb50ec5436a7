package io.github.holdfast.autoconfigure;

import io.github.holdfast.actuate.LocksEndpoint;
import io.github.holdfast.actuate.LocksEndpoint.ForcedRelease;
import io.github.holdfast.service.LockService;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** The endpoint {@code locks}, where Actuator is there and it is exposed. */
@AutoConfiguration(after = LockServiceAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnAvailableEndpoint(LocksEndpoint.class)
@ConditionalOnSingleCandidate(LockService.class)
public final class LockEndpointAutoConfiguration {

    LockEndpointAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    LocksEndpoint holdfastLocksEndpoint(LockService locks, Environment environment) {
        ForcedRelease forcedRelease = Binder.get(environment)
                .bind("holdfast.endpoint.force-release", ForcedRelease.class)
                .orElse(ForcedRelease.DISABLED);
        return LocksEndpoint.of(locks, forcedRelease);
    }
}
