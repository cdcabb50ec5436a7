package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.actuate.LocksEndpoint;
import io.github.holdfast.annotation.Locked;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import io.micrometer.core.instrument.MeterRegistry;
import jakarta.persistence.EntityManagerFactory;
import java.util.List;
import javax.annotation.PostConstruct;
import org.hibernate.Version;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.orm.jpa.EntityManagerFactoryBuilderCustomizer;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** An application on Spring Boot 3.5 has what one on Spring Boot 4 has. */
class SpringBoot3Test {

    @Test
    void locksAreHeldAndSeenWithoutConfiguration() throws InterruptedException {
        try (ConfigurableApplicationContext shop = new SpringApplicationBuilder(Shop.class)
                .web(WebApplicationType.NONE)
                .properties(
                        "spring.datasource.url=jdbc:h2:mem:boot3;DB_CLOSE_DELAY=-1",
                        "spring.liquibase.enabled=false",
                        "management.endpoints.jmx.exposure.include=*",
                        "spring.jmx.enabled=true")
                .run()) {
            assertThat(Version.getVersionString()).startsWith("6.6.");
            LockService locks = shop.getBean(LockService.class);
            try (LockHandle handle = locks.acquire(LockRequest.of("order"))) {
                assertThat(handle.fencingToken()).isPositive();
                assertThat(locks.tryAcquire(LockRequest.of("order").owner("somebody else")))
                        .isEmpty();
            }
            assertThat(shop.getBean("locksHealthIndicator", HealthIndicator.class)
                            .health()
                            .getStatus())
                    .isEqualTo(Status.UP);
            assertThat(shop.getBeanNamesForType(LocksEndpoint.class)).hasSize(1);
            assertThat(shop.getBean(MeterRegistry.class).getMeters())
                    .anyMatch(meter -> meter.getId().getName().startsWith("holdfast."));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"4.0.7", "4.1.1", "3.4.13", "2.7.18"})
    void anotherSpringBootIsRefused(String version) {
        assertThatExceptionOfType(LockSetupException.class)
                .isThrownBy(() -> SpringBootVersionCheck.refuse(version))
                .withMessageContaining("needs Spring Boot 3.5, but this is Spring Boot " + version);
    }

    @Test
    void springBoot35IsNot() {
        for (String version : List.of("3.5.0", "3.5.16", "3.10.1")) {
            assertThatCode(() -> SpringBootVersionCheck.refuse(version)).doesNotThrowAnyException();
        }
        assertThatCode(() -> SpringBootVersionCheck.refuse(null)).doesNotThrowAnyException();
    }

    @Test
    void whatTheApplicationAddsToItsUnitStays() throws InterruptedException {
        try (ConfigurableApplicationContext shop = new SpringApplicationBuilder(WithPostProcessor.class)
                .web(WebApplicationType.NONE)
                .properties("spring.datasource.url=jdbc:h2:mem:post-processor", "spring.liquibase.enabled=false")
                .run()) {
            assertThat(shop.getBean(EntityManagerFactory.class).getProperties()).containsEntry("shop.region", "eu");
            try (LockHandle handle = shop.getBean(LockService.class).acquire(LockRequest.of("order"))) {
                assertThat(handle.fencingToken()).isPositive();
            }
        }
    }

    @Test
    void whatSpringCallsByTheAnnotationOfJavaEeDoesNotStart() {
        SpringApplicationBuilder shop = new SpringApplicationBuilder(Shop.class, Opening.class)
                .web(WebApplicationType.NONE)
                .properties("spring.datasource.url=jdbc:h2:mem:java-ee", "spring.liquibase.enabled=false");
        assertThatThrownBy(() -> shop.run().close())
                .hasStackTraceContaining("Spring calls it on the bean itself, not through its proxy");
    }

    @EnableAutoConfiguration
    static class Shop {}

    @EnableAutoConfiguration
    static class WithPostProcessor {
        @Bean
        EntityManagerFactoryBuilderCustomizer region() {
            return builder -> builder.setPersistenceUnitPostProcessors(unit -> unit.addProperty("shop.region", "eu"));
        }
    }

    static class Opening {
        @PostConstruct
        @Locked("opening")
        public void open() {}
    }
}
