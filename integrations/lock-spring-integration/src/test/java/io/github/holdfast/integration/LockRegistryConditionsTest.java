package io.github.holdfast.integration;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.service.LockService;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.ClassPathResource;
import org.springframework.integration.support.locks.DefaultLockRegistry;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.util.ClassUtils;

/** Where the registry is. No lock service is made: it would be by the registry, which stays lazy here. */
class LockRegistryConditionsTest {

    private static final String REGISTRY = "holdfastLockRegistry";

    private final ApplicationContextRunner application = new ApplicationContextRunner()
            .withInitializer(context -> context.addBeanFactoryPostProcessor(beans -> {
                for (String name : beans.getBeanDefinitionNames()) {
                    beans.getBeanDefinition(name).setLazyInit(true);
                }
            }))
            .withUserConfiguration(Integration.class);

    private final ApplicationContextRunner withLocks =
            application.withBean(LockService.class, LockRegistryConditionsTest::unwanted);

    /** Read without loading, as in an application: what is not there must not be looked for. */
    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration(LockRegistryAutoConfiguration.class)
    static class Integration {}

    private static LockService unwanted() {
        throw new AssertionError("The lock service is made before it is needed");
    }

    @Test
    void aLockServiceIsEnough() {
        withLocks.run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBeanFactory().containsBeanDefinition(REGISTRY))
                    .isTrue();
        });
    }

    @Test
    void withoutALockServiceThereIsNone() {
        application.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(REGISTRY));
    }

    @Test
    void withoutSpringIntegrationThereIsNone() {
        withLocks
                .withClassLoader(new FilteredClassLoader("org.springframework.integration"))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(REGISTRY));
    }

    @Test
    void switchedOffThereIsNone() {
        withLocks
                .withPropertyValues("holdfast.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(REGISTRY));
    }

    @Test
    void theApplicationsOwnRegistryTakesPrecedence() {
        withLocks.withBean(DefaultLockRegistry.class).run(context -> {
            assertThat(context).hasNotFailed().doesNotHaveBean(REGISTRY);
            assertThat(context.getBean(LockRegistry.class)).isInstanceOf(DefaultLockRegistry.class);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"a:b", " orders", ""})
    void aRegionThatCannotBeIsRefusedByName(String region) {
        assertThatThrownBy(() -> LockRegistryAutoConfiguration.checkedRegion(new SpringIntegrationProperties(region)))
                .isInstanceOfSatisfying(
                        InvalidConfigurationPropertyValueException.class,
                        refused -> assertThat(refused.getName()).isEqualTo("holdfast.spring-integration.region"));
    }

    @Test
    void everyPropertyIsDescribed() throws Exception {
        String metadata =
                new ClassPathResource("META-INF/spring-configuration-metadata.json").getContentAsString(UTF_8);
        assertThat(SpringIntegrationProperties.class.getRecordComponents()).hasSize(1);
        assertThat(metadata)
                .containsPattern("\"name\": \"holdfast.spring-integration.region\",\\s+\"type\": \"java.lang.String\","
                        + "\\s+\"description\": \"[^\"]{10}[^}]*\"defaultValue\": \"DEFAULT\"");
    }

    /** A name in a string, which no compiler checks. */
    @Test
    void theStartersConfigurationIsThere() {
        AutoConfiguration order = LockRegistryAutoConfiguration.class.getAnnotation(AutoConfiguration.class);
        assertThat(order.afterName())
                .singleElement()
                .satisfies(
                        name -> assertThat(ClassUtils.isPresent(name, getClass().getClassLoader()))
                                .isTrue());
    }
}
