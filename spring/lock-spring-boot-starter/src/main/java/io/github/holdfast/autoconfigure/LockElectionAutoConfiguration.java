package io.github.holdfast.autoconfigure;

import io.github.holdfast.autoconfigure.election.ElectionBeans;
import io.github.holdfast.autoconfigure.election.ElectionStarter;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.service.LockService;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;

/** Configures a {@link LeaderElection} for each {@link ElectionRequest} bean, and starts it when the application has started. */
@AutoConfiguration(after = LockServiceAutoConfiguration.class)
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnBean({LockService.class, ElectionRequest.class})
final class LockElectionAutoConfiguration {

    LockElectionAutoConfiguration() {}

    @Bean
    static ElectionBeans holdfastElectionBeans() {
        return new ElectionBeans();
    }

    // Not lazy, because no other bean injects it.
    @Bean
    @Lazy(false)
    ElectionStarter holdfastElectionStarter(ConfigurableListableBeanFactory beans, ApplicationEventPublisher events) {
        return new ElectionStarter(beans, events);
    }
}
