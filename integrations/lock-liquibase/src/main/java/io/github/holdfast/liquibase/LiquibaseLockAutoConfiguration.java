package io.github.holdfast.liquibase;

import liquibase.integration.spring.SpringLiquibase;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** Configures the lock of each {@link SpringLiquibase} bean, unless {@code holdfast.liquibase.enabled} is false. */
@AutoConfiguration
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnBooleanProperty(name = "holdfast.liquibase.enabled", matchIfMissing = true)
@ConditionalOnClass(SpringLiquibase.class)
@EnableConfigurationProperties(LiquibaseLockProperties.class)
final class LiquibaseLockAutoConfiguration {

    LiquibaseLockAutoConfiguration() {}

    @Bean
    static SpringLiquibaseProtector holdfastLiquibaseLock(Environment environment) {
        return new SpringLiquibaseProtector(environment);
    }
}
