package io.github.holdfast.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.service.LockService;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockProvider;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.ClassUtils;

/** Which applications get a provider. */
class ShedLockAutoConfigurationTest {

    private final ApplicationContextRunner application = new ApplicationContextRunner()
            .withUserConfiguration(Application.class)
            .withPropertyValues("spring.datasource.url=jdbc:h2:mem:provider", "spring.jpa.hibernate.ddl-auto=none");

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}

    @Configuration(proxyBeanMethods = false)
    static class OwnProvider {

        @Bean
        LockProvider lockProvider() {
            return configuration -> Optional.empty();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class SecondService {

        @Bean
        LockService one() {
            throw new AssertionError("Nobody needs it");
        }

        @Bean
        LockService other() {
            throw new AssertionError("Nobody needs it");
        }
    }

    @Test
    void anApplicationWithTheStarterHasAProvider() {
        application.run(context -> assertThat(context)
                .hasNotFailed()
                .hasSingleBean(LockProvider.class)
                .hasSingleBean(HoldfastLockProvider.class));
    }

    @Test
    void theApplicationsOwnProviderStays() {
        application
                .withUserConfiguration(OwnProvider.class)
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasSingleBean(LockProvider.class)
                        .doesNotHaveBean(HoldfastLockProvider.class));
    }

    @Test
    void withoutShedLockThereIsNone() {
        application
                .withClassLoader(new FilteredClassLoader("net.javacrumbs.shedlock"))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasSingleBean(LockService.class)
                        .doesNotHaveBean("holdfastLockProvider"));
    }

    @Test
    void withoutALockServiceThereIsNone() {
        application
                .withPropertyValues("holdfast.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockProvider.class));
    }

    @Test
    void withSeveralLockServicesTheApplicationMustChoose() {
        application
                .withInitializer(context -> context.addBeanFactoryPostProcessor(beans -> {
                    for (String name : beans.getBeanDefinitionNames()) {
                        beans.getBeanDefinition(name).setLazyInit(true);
                    }
                }))
                .withUserConfiguration(SecondService.class)
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(LockProvider.class));
    }

    /** A name in a string, which no compiler checks. */
    @Test
    void theClassThatIsNamedByItsNameIsThere() {
        AutoConfiguration order = ShedLockAutoConfiguration.class.getAnnotation(AutoConfiguration.class);
        assertThat(order.afterName())
                .singleElement()
                .satisfies(name -> assertThat(ClassUtils.isPresent(name, LockProvider.class.getClassLoader()))
                        .isTrue());
    }
}
