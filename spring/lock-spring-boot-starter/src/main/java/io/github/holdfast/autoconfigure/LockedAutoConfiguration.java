package io.github.holdfast.autoconfigure;

import io.github.holdfast.annotation.AdviceOrder;
import io.github.holdfast.annotation.LeaderOnly;
import io.github.holdfast.annotation.LeaderOnlyConfiguration;
import io.github.holdfast.annotation.Locked;
import io.github.holdfast.annotation.LockedConfiguration;
import io.github.holdfast.annotation.ScheduledLock;
import io.github.holdfast.annotation.ScheduledLockConfiguration;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/**
 * Enables {@link Locked}, {@link ScheduledLock} and {@link LeaderOnly} methods. It also applies with {@code holdfast.enabled=false}. An application
 * with such methods then does not start. Otherwise it would run them without their locks.
 */
@AutoConfiguration(after = LockServiceAutoConfiguration.class)
@Import({LockedConfiguration.class, ScheduledLockConfiguration.class, LeaderOnlyConfiguration.class})
final class LockedAutoConfiguration {

    LockedAutoConfiguration() {}

    // Not a part of HoldfastProperties, because it is read before most beans can be created.
    @Bean
    @ConditionalOnMissingBean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static AdviceOrder holdfastAdviceOrder(Environment environment) {
        return Binder.get(environment)
                .bind("holdfast.advice-outside-locks", Bindable.setOf(AdviceOrder.Kind.class))
                .map(AdviceOrder::new)
                .orElse(AdviceOrder.DEFAULT);
    }
}
