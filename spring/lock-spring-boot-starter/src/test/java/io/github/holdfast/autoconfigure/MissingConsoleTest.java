package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;

/** What an application is told that switches the console on without its artifact. */
class MissingConsoleTest {

    private static final String ON = "holdfast.console.enabled=true";
    private static final AutoConfigurations WARNING = AutoConfigurations.of(MissingConsoleAutoConfiguration.class);

    private final Logger logger = (Logger) LoggerFactory.getLogger(MissingConsoleAutoConfiguration.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final WebApplicationContextRunner application = new WebApplicationContextRunner()
            .withInitializer(
                    context -> context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
            .withConfiguration(WARNING);

    @BeforeEach
    void listen() {
        log.start();
        logger.setLevel(Level.WARN);
        logger.setAdditive(false);
        logger.addAppender(log);
    }

    @AfterEach
    void stopListening() {
        logger.detachAppender(log);
        logger.setAdditive(true);
        logger.setLevel(null);
    }

    @Test
    void theDependencyIsNamed() {
        application.withPropertyValues(ON).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(log.list)
                    .singleElement()
                    .satisfies(event ->
                            assertThat(event.getFormattedMessage()).contains("io.github.holdfast:lock-console"));
        });
    }

    @Test
    void nothingIsSaidWhereThereWouldBeNoConsole() {
        application.run(context -> assertThat(context).hasNotFailed());
        application
                .withPropertyValues(ON, "holdfast.enabled=false")
                .run(context -> assertThat(context).hasNotFailed());
        application
                .withClassLoader(new FilteredClassLoader("org.springframework.web.servlet"))
                .withPropertyValues(ON)
                .run(context -> assertThat(context).hasNotFailed());
        new ApplicationContextRunner()
                .withConfiguration(WARNING)
                .withPropertyValues(ON)
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(log.list).isEmpty();
    }
}
