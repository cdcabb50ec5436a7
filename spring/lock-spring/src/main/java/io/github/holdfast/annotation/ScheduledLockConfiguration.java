package io.github.holdfast.annotation;

import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.annotation.Role;

/**
 * Enables {@link ScheduledLock} methods. They use the only {@code LockService} bean, or the primary one of several. Spring Boot
 * applies this configuration automatically; other applications import it.
 */
@Configuration(proxyBeanMethods = false)
@Import(AdviceSorter.Beans.class)
@ImportRuntimeHints(AnnotationHints.class)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public final class ScheduledLockConfiguration {

    /** Called by Spring. */
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
