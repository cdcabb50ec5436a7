package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.actuate.LocksEndpoint;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import org.hibernate.Version;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

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

    @EnableAutoConfiguration
    static class Shop {}
}
