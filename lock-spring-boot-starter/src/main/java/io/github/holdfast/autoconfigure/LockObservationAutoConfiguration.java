package io.github.holdfast.autoconfigure;

import io.github.holdfast.metrics.LockGroup;
import io.github.holdfast.metrics.LockObservations;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.observation.ObservationRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Observes acquisitions where there is an {@link ObservationRegistry}. */
@AutoConfiguration(
        afterName = "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration")
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnClass(ObservationRegistry.class)
@ConditionalOnBean(ObservationRegistry.class)
public final class LockObservationAutoConfiguration {

    LockObservationAutoConfiguration() {}

    /** A listener, which the lock service is made with. */
    @Bean
    @ConditionalOnMissingBean
    LockObservations holdfastObservations(ObservationRegistry registry, ObjectProvider<LockGroup> groups) {
        return LockObservations.of(registry, groups.getIfAvailable(LockGroup::byPrefix));
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterFilter.class)
    static class WithMeters {

        /** Spring Boot has a meter made of each observation, but these acquisitions have their own. */
        @Bean
        static MeterFilter holdfastObservationsAreNotMeters() {
            return MeterFilter.denyNameStartsWith(LockObservations.NAME);
        }
    }
}
