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

/** Observes acquisitions if there is an {@link ObservationRegistry}. */
@AutoConfiguration(
        afterName = "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration")
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnClass(ObservationRegistry.class)
@ConditionalOnBean(ObservationRegistry.class)
final class LockObservationAutoConfiguration {

    LockObservationAutoConfiguration() {}

    /** The lock service gets this listener at its creation. */
    @Bean
    @ConditionalOnMissingBean
    LockObservations holdfastObservations(ObservationRegistry registry, ObjectProvider<LockGroup> groups) {
        return LockObservations.of(registry, groups.getIfAvailable(LockGroup::byPrefix));
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterFilter.class)
    static class WithMeters {

        /** By default, Spring Boot creates a meter for each observation. Acquisitions already have meters of their own. */
        @Bean
        static MeterFilter holdfastObservationsAreNotMeters() {
            return MeterFilter.denyNameStartsWith(LockObservations.NAME);
        }
    }
}
