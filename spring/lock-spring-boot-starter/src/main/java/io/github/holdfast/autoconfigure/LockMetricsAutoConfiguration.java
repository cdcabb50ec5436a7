package io.github.holdfast.autoconfigure;

import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.metrics.LockGroup;
import io.github.holdfast.metrics.LockMeters;
import io.github.holdfast.service.LockService;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Records the meters of the lock service if there is a {@link MeterRegistry}. */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration"
        })
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean(MeterRegistry.class)
final class LockMetricsAutoConfiguration {

    LockMetricsAutoConfiguration() {}

    /** The lock service gets this listener at its creation. */
    @Bean
    @ConditionalOnMissingBean
    LockMeters holdfastMeters(MeterRegistry registry, ObjectProvider<LockGroup> groups) {
        return LockMeters.of(registry, groups.getIfAvailable(LockGroup::byPrefix));
    }

    @Bean
    static Observer holdfastMetersObserver(ObjectProvider<LockMeters> meters) {
        return new Observer(meters);
    }

    /**
     * Registers the gauges after the creation of the service and its elections, because the service needs the meters first. It does not trigger
     * that creation.
     */
    static final class Observer implements BeanPostProcessor {

        private final ObjectProvider<LockMeters> meters;

        Observer(ObjectProvider<LockMeters> meters) {
            this.meters = meters;
        }

        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
            if (bean instanceof LockService locks) {
                meters.getObject().observe(locks);
            }
            if (bean instanceof LeaderElection election) {
                meters.getObject().observe(election);
            }
            return bean;
        }
    }
}
