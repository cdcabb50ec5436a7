package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.actuate.LockHealthIndicator;
import io.github.holdfast.actuate.LocksEndpoint;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.metrics.LockMeters;
import io.github.holdfast.metrics.LockObservations;
import io.github.holdfast.service.LockService;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

/** What is there depends on what the application has. No lock service is made. */
class ObservabilityConditionsTest {

    private final ApplicationContextRunner application = new ApplicationContextRunner()
            .withBean(
                    LockService.class,
                    () -> {
                        throw new AssertionError("The lock service is made before it is needed");
                    },
                    definition -> definition.setLazyInit(true))
            .withUserConfiguration(Observability.class);

    /** Read without loading, as in an application: what is not there must not be looked for. */
    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        LockMetricsAutoConfiguration.class,
        LockObservationAutoConfiguration.class,
        LockEndpointAutoConfiguration.class,
        LockHealthAutoConfiguration.class
    })
    static class Observability {}

    @Test
    void nothingIsThereWithoutActuatorAndMicrometer() {
        application
                .withClassLoader(new FilteredClassLoader(
                        "io.micrometer", "org.springframework.boot.actuate", "org.springframework.boot.health"))
                .withPropertyValues("management.endpoints.web.exposure.include=*")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean("holdfastMeters")
                        .doesNotHaveBean("holdfastObservations")
                        .doesNotHaveBean("holdfastLocksEndpoint")
                        .doesNotHaveBean("locksHealthIndicator"));
    }

    @Test
    void endpointMustBeExposedAndHealthMayBeSwitchedOff() {
        application
                .withPropertyValues("management.health.locks.enabled=false")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(LockMeters.class)
                        .doesNotHaveBean(LocksEndpoint.class)
                        .doesNotHaveBean(LockHealthIndicator.class));
    }

    @Test
    void metersDoNotMakeTheService() {
        application
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .withPropertyValues("management.health.locks.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().hasSingleBean(LockMeters.class));
    }

    /** Each with the handler that Spring Boot makes meters of observations with. */
    @Test
    void acquisitionsAreObservedButNoMetersAreMadeOfThat() {
        ObservationRegistry observations = ObservationRegistry.create();
        application
                .withBean(ObservationRegistry.class, () -> observations)
                .withPropertyValues("management.health.locks.enabled=false")
                .run(context -> {
                    assertThat(context).hasNotFailed().hasSingleBean(LockObservations.class);
                    SimpleMeterRegistry meters = new SimpleMeterRegistry();
                    meters.config().meterFilter(context.getBean(MeterFilter.class));
                    observations.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
                    LockRequest request = LockRequest.of("order:1");
                    LockObservations listener = context.getBean(LockObservations.class);
                    listener.acquiring(request);
                    assertThat(observations.getCurrentObservation()).isNotNull();
                    listener.acquisitionEnded(request);
                    assertThat(observations.getCurrentObservation()).isNull();
                    Observation.createNotStarted("another", observations).observe(() -> {});
                    assertThat(meters.getMeters())
                            .map(meter -> meter.getId().getName())
                            .contains("another")
                            .noneMatch(name -> name.startsWith("holdfast"));
                });
    }

    @Test
    void endpointAndHealthNeedAService() {
        new ApplicationContextRunner()
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .withUserConfiguration(Observability.class)
                .withPropertyValues("management.endpoints.web.exposure.include=*")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .hasSingleBean(LockMeters.class)
                        .as("there is no lock service")
                        .doesNotHaveBean(LocksEndpoint.class)
                        .doesNotHaveBean(LockHealthIndicator.class));
    }
}
