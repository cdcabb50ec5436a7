package io.github.holdfast.autoconfigure;

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

/** Records meters of the lock service where there is a {@link MeterRegistry}. */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.MetricsAutoConfiguration"
        })
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean(MeterRegistry.class)
public final class LockMetricsAutoConfiguration {

    LockMetricsAutoConfiguration() {}

    /** A listener, which the lock service is made with. */
    @Bean
    @ConditionalOnMissingBean
    LockMeters holdfastMeters(MeterRegistry registry, ObjectProvider<LockGroup> groups) {
        return LockMeters.of(registry, groups.getIfAvailable(LockGroup::byPrefix));
    }

    @Bean
    static Observer holdfastMetersObserver(ObjectProvider<LockMeters> meters) {
        return new Observer(meters);
    }

    /** The service is made with the meters, which cannot ask it before; and it is not made for their sake. */
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
            return bean;
        }
    }
}
