package io.github.holdfast.autoconfigure;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.web.servlet.HandlerExceptionResolver;

/** Answers requests whose lock was refused or lost, in an application with Spring MVC, unless the application does so itself. */
@AutoConfiguration(afterName = "org.springframework.boot.webmvc.autoconfigure.WebMvcAutoConfiguration")
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnBooleanProperty(name = "holdfast.web.map-exceptions", matchIfMissing = true)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass(HandlerExceptionResolver.class)
@EnableConfigurationProperties(HoldfastProperties.class)
final class LockErrorsAutoConfiguration {

    /** The name that Spring MVC gives to its own resolver, which knows the handlers of the application. */
    private static final String OF_SPRING = "handlerExceptionResolver";

    LockErrorsAutoConfiguration() {}

    // Without that of Spring, there is no Spring MVC that could answer.
    @Bean
    @ConditionalOnBean(name = OF_SPRING)
    LockErrorResolver holdfastErrorResolver(
            @Qualifier(OF_SPRING) HandlerExceptionResolver ofSpring, HoldfastProperties properties) {
        return new LockErrorResolver(ofSpring, properties.web());
    }
}
