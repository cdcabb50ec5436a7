package io.github.holdfast.console;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties of the page that shows the locks, in applications with Spring MVC. Secure the page.
 *
 * @param enabled whether the application has a console
 * @param path the path of the console, after the context path
 * @param forceRelease whether authenticated users may release locks and permits by force on the page
 */
@ConfigurationProperties("holdfast.console")
record ConsoleProperties(
        @DefaultValue("false") boolean enabled,
        @DefaultValue("/holdfast") String path,
        @DefaultValue("disabled") LockConsole.ForcedRelease forceRelease) {}
