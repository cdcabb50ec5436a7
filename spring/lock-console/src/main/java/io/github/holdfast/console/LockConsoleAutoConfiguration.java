package io.github.holdfast.console;

import io.github.holdfast.console.LockConsole.RecentLosses;
import io.github.holdfast.service.LockService;
import java.util.regex.Pattern;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.web.servlet.DispatcherServlet;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.ServerResponse;

/**
 * Configures the console in an application with Spring MVC, if {@code holdfast.console.enabled} is true. It runs after the
 * starter, which usually defines the lock service. Any other lock service works, too.
 */
@AutoConfiguration(afterName = "io.github.holdfast.autoconfigure.LockServiceAutoConfiguration")
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnBooleanProperty("holdfast.console.enabled")
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass(DispatcherServlet.class)
@ConditionalOnSingleCandidate(LockService.class)
@EnableConfigurationProperties(ConsoleProperties.class)
@ImportRuntimeHints(ConsoleHints.class)
final class LockConsoleAutoConfiguration {

    /** The allowed paths: without wildcards, and without characters that need encoding. */
    private static final Pattern PATH = Pattern.compile("(/[A-Za-z0-9._~-]+)+");

    LockConsoleAutoConfiguration() {}

    /** The lock service gets this listener at its creation. */
    @Bean
    RecentLosses holdfastRecentLosses() {
        return RecentLosses.empty();
    }

    @Bean
    RouterFunction<ServerResponse> holdfastConsole(
            LockService locks, RecentLosses losses, ConsoleProperties properties) {
        return LockConsole.of(locks, losses, properties.forceRelease()).at(checkedPath(properties));
    }

    static String checkedPath(ConsoleProperties properties) {
        String path = properties.path();
        if (!PATH.matcher(path).matches()) {
            throw new InvalidConfigurationPropertyValueException(
                    "holdfast.console.path",
                    path,
                    "It must begin with a slash, and not end with one: letters, digits and . _ ~ - between slashes");
        }
        return path;
    }
}
