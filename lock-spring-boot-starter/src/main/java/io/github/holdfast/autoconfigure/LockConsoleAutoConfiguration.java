package io.github.holdfast.autoconfigure;

import io.github.holdfast.console.LockConsole;
import io.github.holdfast.console.RecentLosses;
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
import org.springframework.web.servlet.DispatcherServlet;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.ServerResponse;

/** The console, in an application with Spring MVC that has switched it on. */
@AutoConfiguration(after = LockServiceAutoConfiguration.class)
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@ConditionalOnBooleanProperty("holdfast.console.enabled")
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass(DispatcherServlet.class)
@ConditionalOnSingleCandidate(LockService.class)
@EnableConfigurationProperties(HoldfastProperties.class)
public final class LockConsoleAutoConfiguration {

    /** Without wildcards and what would have to be encoded. */
    private static final Pattern PATH = Pattern.compile("(/[A-Za-z0-9._~-]+)+");

    LockConsoleAutoConfiguration() {}

    /** A listener, which the lock service is made with. */
    @Bean
    RecentLosses holdfastRecentLosses() {
        return RecentLosses.empty();
    }

    @Bean
    RouterFunction<ServerResponse> holdfastConsole(
            LockService locks, RecentLosses losses, HoldfastProperties properties) {
        HoldfastProperties.Console console = properties.console();
        return LockConsole.of(locks, losses, console.forceRelease()).at(checkedPath(console));
    }

    static String checkedPath(HoldfastProperties.Console console) {
        if (!PATH.matcher(console.path()).matches()) {
            throw new InvalidConfigurationPropertyValueException(
                    "holdfast.console.path",
                    console.path(),
                    "It must begin with a slash, and not end with one: letters, digits and . _ ~ - between slashes");
        }
        return console.path();
    }
}
