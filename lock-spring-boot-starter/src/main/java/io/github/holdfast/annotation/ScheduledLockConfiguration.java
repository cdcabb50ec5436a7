package io.github.holdfast.annotation;

import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;

/**
 * Makes {@link ScheduledLock} work, for an application context with one {@code LockService}, or a primary one. Spring Boot
 * applications have it by themselves; others import it.
 */
@Configuration(proxyBeanMethods = false)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public final class ScheduledLockConfiguration {

    /** For Spring. */
    public ScheduledLockConfiguration() {}

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static ScheduledLockPostProcessor holdfastScheduledLockPostProcessor() {
        return new ScheduledLockPostProcessor();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static InterceptionCheck holdfastScheduledLockInterceptionCheck(ConfigurableListableBeanFactory beans) {
        return new InterceptionCheck(
                beans, AnnotatedMethods.scheduledLock(), ScheduledLockInterceptor.class, (method, type) -> {});
    }
}
