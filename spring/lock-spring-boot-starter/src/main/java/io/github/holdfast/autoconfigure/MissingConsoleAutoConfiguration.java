package io.github.holdfast.autoconfigure;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Lazy;

/**
 * Warns if the console is enabled in an application with Spring MVC, but its artifact is missing. A missing page is no reason to
 * stop the application.
 */
@AutoConfiguration
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnBooleanProperty("holdfast.console.enabled")
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass(name = "org.springframework.web.servlet.DispatcherServlet")
@ConditionalOnMissingClass("io.github.holdfast.console.LockConsole")
@Lazy(false)
final class MissingConsoleAutoConfiguration {

    private static final Logger LOG = LoggerFactory.getLogger(MissingConsoleAutoConfiguration.class);

    MissingConsoleAutoConfiguration() {
        LOG.warn("There is no console, although holdfast.console.enabled is true: add the dependency"
                + " io.github.holdfast:lock-console");
    }
}
