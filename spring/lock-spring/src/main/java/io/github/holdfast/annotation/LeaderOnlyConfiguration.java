package io.github.holdfast.annotation;

import io.github.holdfast.election.LeaderElection;
import java.util.List;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.annotation.Role;

/**
 * Enables {@link LeaderOnly} methods. They use the {@link LeaderElection} beans. Spring Boot applies this configuration automatically; other
 * applications import it.
 */
@Configuration(proxyBeanMethods = false)
@ImportRuntimeHints(AnnotationHints.class)
@Import(LockedConfiguration.Proxies.class)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public final class LeaderOnlyConfiguration {

    LeaderOnlyConfiguration() {}

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LeaderOnlyInterceptor holdfastLeaderOnlyInterceptor(
            ConfigurableListableBeanFactory beans, ObjectProvider<LeaderElection> elections) {
        return new LeaderOnlyInterceptor(beans, elections);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedAdvisor holdfastLeaderOnlyAdvisor(
            ConfigurableListableBeanFactory beans, LeaderOnlyInterceptor interceptor) {
        return new LockedAdvisor(beans, interceptor, List.of(LeaderOnly.class), LockedAdvisor.Place.OUTSIDE_LOCKS);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static InterceptionCheck holdfastLeaderOnlyInterceptionCheck(
            ConfigurableListableBeanFactory beans, LeaderOnlyInterceptor interceptor) {
        return new InterceptionCheck(
                beans, AnnotatedMethods.leaderOnly(), LeaderOnlyInterceptor.class, interceptor::check);
    }
}
