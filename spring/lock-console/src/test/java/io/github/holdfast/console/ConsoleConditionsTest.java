package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.service.LockService;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingClass;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.ClassUtils;

/** Where the console is. No lock service is made: it would be by the console, which stays lazy here. */
class ConsoleConditionsTest {

    private static final String CONSOLE = "holdfastConsole";
    private static final String ON = "holdfast.console.enabled=true";

    private final WebApplicationContextRunner application = new WebApplicationContextRunner()
            .withInitializer(context -> context.addBeanFactoryPostProcessor(beans -> {
                for (String name : beans.getBeanDefinitionNames()) {
                    beans.getBeanDefinition(name).setLazyInit(true);
                }
            }))
            .withBean(LockService.class, ConsoleConditionsTest::unwanted)
            .withUserConfiguration(Console.class);

    /** Read without loading, as in an application: what is not there must not be looked for. */
    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration(LockConsoleAutoConfiguration.class)
    static class Console {}

    private static LockService unwanted() {
        throw new AssertionError("The lock service is made before it is needed");
    }

    @Test
    void consoleMustBeSwitchedOn() {
        application.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(CONSOLE));
        application
                .withPropertyValues("holdfast.console.enabled=false", "holdfast.console.force-release=enabled")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(CONSOLE));
    }

    @Test
    void neitherActuatorNorSpringSecurityNorJsonIsNeeded() {
        application
                .withClassLoader(new FilteredClassLoader(
                        "org.springframework.boot.actuate", "org.springframework.security", "tools.jackson"))
                .withPropertyValues(ON)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(context.getBeanFactory().containsBeanDefinition(CONSOLE))
                            .isTrue();
                });
    }

    @Test
    void nothingIsThereWithoutSpringMvc() {
        application
                .withClassLoader(new FilteredClassLoader("org.springframework.web.servlet"))
                .withPropertyValues(ON)
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(CONSOLE));
        new ApplicationContextRunner()
                .withBean(
                        LockService.class, ConsoleConditionsTest::unwanted, definition -> definition.setLazyInit(true))
                .withUserConfiguration(Console.class)
                .withPropertyValues(ON)
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(CONSOLE));
    }

    /** Names in strings, which no compiler checks. */
    @Test
    void theClassesThatAreNamedByTheirNamesAreThere() {
        ClassLoader loader = LockConsole.class.getClassLoader();
        AutoConfiguration order = LockConsoleAutoConfiguration.class.getAnnotation(AutoConfiguration.class);
        assertThat(order.afterName())
                .singleElement()
                .satisfies(
                        name -> assertThat(ClassUtils.isPresent(name, loader)).isTrue());
        String warning = "io.github.holdfast.autoconfigure.MissingConsoleAutoConfiguration";
        assertThat(ClassUtils.isPresent(warning, loader)).isTrue();
        ConditionalOnMissingClass missing =
                ClassUtils.resolveClassName(warning, loader).getAnnotation(ConditionalOnMissingClass.class);
        assertThat(missing.value()).containsExactly(LockConsole.class.getName());
    }

    @Test
    void itNeedsAService() {
        new WebApplicationContextRunner()
                .withUserConfiguration(Console.class)
                .withPropertyValues(ON)
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(CONSOLE));
    }
}
