package io.github.holdfast.annotation;

import io.github.holdfast.service.LockService;
import java.util.List;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.annotation.Role;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Enables {@link Locked} and {@link Limited} methods. They use the only {@link LockService} bean, or the primary one of several. Spring Boot applies
 * this configuration automatically. Other applications import it:
 *
 * <pre>{@code
 * @Configuration
 * @EnableTransactionManagement
 * @Import(LockedConfiguration.class)
 * class LockingConfiguration {
 *     @Bean
 *     LockService lockService(EntityManagerFactory unit, PlatformTransactionManager transactions) {
 *         return LockService.builder(unit).transactionManager(transactions).build();
 *     }
 * }
 * }</pre>
 */
@Configuration(proxyBeanMethods = false)
@Import({LockedConfiguration.Proxies.class, AdviceSorter.Beans.class})
@ImportRuntimeHints(AnnotationHints.class)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public final class LockedConfiguration {

    LockedConfiguration() {}

    // Spring creates these beans before all others, so they look up the lock service only when a method is called.

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedMethods holdfastLockedMethods(ConfigurableListableBeanFactory beans) {
        return new LockedMethods(beans);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static UsedLockService holdfastServiceOfLockedMethods(ObjectProvider<LockService> services) {
        return new UsedLockService(services);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedAdvisor holdfastLockedAdvisor(
            ConfigurableListableBeanFactory beans, LockedMethods methods, UsedLockService locks) {
        return new LockedAdvisor(
                beans,
                new LockedInterceptor(methods, locks),
                List.of(Locked.class, Limited.class),
                LockedAdvisor.Place.OUTSIDE_TRANSACTIONS);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedStartupCheck holdfastLockedStartupCheck(ConfigurableListableBeanFactory beans, LockedMethods methods) {
        return new LockedStartupCheck(beans, methods);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static InterceptionCheck holdfastLockedInterceptionCheck(
            ConfigurableListableBeanFactory beans, LockedMethods methods) {
        return new InterceptionCheck(beans, AnnotatedMethods.locked(), LockedInterceptor.class, methods::get);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static InterceptionCheck holdfastLimitedInterceptionCheck(
            ConfigurableListableBeanFactory beans, LockedMethods methods) {
        return new InterceptionCheck(beans, AnnotatedMethods.limited(), LockedInterceptor.class, methods::get);
    }

    /** Registers Spring's creator of proxies. It is missing if nothing else needs proxies. */
    static final class Proxies implements ImportBeanDefinitionRegistrar {

        @Override
        public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
            AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
        }
    }
}
