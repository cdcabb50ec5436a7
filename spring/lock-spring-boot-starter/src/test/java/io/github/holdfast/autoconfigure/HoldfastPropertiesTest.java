package io.github.holdfast.autoconfigure;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.example.shop.Shop;
import io.github.holdfast.annotation.AdviceOrder;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.service.LockService;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import jakarta.persistence.EntityManagerFactory;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.ClassPathResource;

/** What the properties, and the beans beside them, change. */
class HoldfastPropertiesTest {

    private static ConfigurableApplicationContext context;

    @BeforeAll
    static void start() {
        context = Application.of(WithBeans.class)
                .with("spring.application.name=shop", "holdfast.node-lease=1h")
                .run();
    }

    @AfterAll
    static void stop() {
        context.close();
    }

    @Test
    void listenersAndCustomizersAreUsed() throws Exception {
        LockService locks = context.getBean(LockService.class);
        try (LockHandle lock = locks.acquire(LockRequest.of("listened"))) {
            assertThat(context.getBean(WithBeans.class).acquired).contains("listened");
            assertThat(lock.remaining()).isGreaterThan(Duration.ofMinutes(50));
            // The customizer has the last word.
            assertThat(locks.find("listened").map(LockInfo::holder).orElseThrow())
                    .contains("customized");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "holdfast.application=%s",
                "holdfast.node-lease=25h",
                "holdfast.lock-delay=-1s",
                "holdfast.clock-tolerance=61s",
                "holdfast.max-row-locks=-1",
                "holdfast.housekeeping.period=1ms",
                "holdfast.housekeeping.retention=1m",
                "holdfast.shutdown.grace-period=-1s",
                "holdfast.datasource.maximum-pool-size=0",
                "holdfast.datasource.connection-timeout=1ms",
                "holdfast.datasource.connection-timeout=0",
                "holdfast.web.retry-after=25h"
            })
    void aValueOutOfRangeIsRefusedByName(String pair) {
        String name = pair.substring(0, pair.indexOf('='));
        String value = pair.substring(pair.indexOf('=') + 1).formatted("a".repeat(101));
        HoldfastProperties properties = new Binder(new MapConfigurationPropertySource(Map.of(name, value)))
                .bindOrCreate("holdfast", HoldfastProperties.class);

        assertThatThrownBy(() -> use(properties))
                .isInstanceOfSatisfying(
                        InvalidConfigurationPropertyValueException.class,
                        refused -> assertThat(refused.getName()).isEqualTo(name));
    }

    @Test
    void aBlankValueIsNotSet() {
        HoldfastProperties properties = new Binder(new MapConfigurationPropertySource(Map.of(
                        "holdfast.datasource.url", "",
                        "holdfast.datasource.username", "",
                        "holdfast.schema.script", " ")))
                .bindOrCreate("holdfast", HoldfastProperties.class);
        assertThat(properties.datasource().url()).isNull();
        assertThat(properties.datasource().username()).isNull();
        assertThat(properties.schema().script()).isNull();
    }

    @Test
    void risksAreAcceptedByTheNamesInTheMessages() {
        for (DatabaseRisk risk : DatabaseRisk.values()) {
            Map<String, String> accept = Map.of("holdfast.accept", "unflushed-commits, " + risk.property());
            assertThat(new Binder(new MapConfigurationPropertySource(accept))
                            .bindOrCreate("holdfast", HoldfastProperties.class)
                            .accept())
                    .containsExactlyInAnyOrderElementsOf(EnumSet.of(DatabaseRisk.UNFLUSHED_COMMITS, risk));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "holdfast.application=shop                             | VALIDATION, SECURITY, RETRY, CIRCUIT_BREAKER",
                "holdfast.advice-outside-locks=security,circuit-breaker | SECURITY, CIRCUIT_BREAKER",
                "holdfast.adviceOutsideLocks[0]=cache                   | CACHE",
                "holdfast.advice-outside-locks=                         |"
            })
    void adviceIsOutsideByTheNamesOfItsKinds(String pair, @Nullable String kinds) {
        Set<AdviceOrder.Kind> outside = kinds == null
                ? Set.of()
                : Stream.of(kinds.split(", ")).map(AdviceOrder.Kind::valueOf).collect(toSet());

        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LockedAutoConfiguration.class))
                .withPropertyValues(pair)
                .run(application ->
                        assertThat(application.getBean(AdviceOrder.class)).isEqualTo(new AdviceOrder(outside)));
    }

    @Test
    void anUnknownKindOfAdviceIsRefusedByName() {
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(LockedAutoConfiguration.class))
                .withPropertyValues("holdfast.advice-outside-locks=retries")
                .run(application -> assertThat(application.getStartupFailure())
                        .hasStackTraceContaining("holdfast.advice-outside-locks"));
    }

    private static void use(HoldfastProperties properties) {
        new LockSetup(context.getBean(EntityManagerFactory.class), context.getBean(LockConnections.class))
                .properties(properties, new StandardEnvironment());
        new LockShutdown(context.getBeanFactory(), properties.shutdown());
        LockPool.create(properties.datasource(), context.getBean(DataSource.class))
                .close();
        new LockErrorResolver((request, response, handler, thrown) -> null, properties.web());
    }

    @Test
    void everyPropertyIsDescribed() throws Exception {
        String metadata =
                new ClassPathResource("META-INF/spring-configuration-metadata.json").getContentAsString(UTF_8);

        assertThat(names("holdfast", HoldfastProperties.class))
                .hasSizeGreaterThan(15)
                .allSatisfy(name -> assertThat(metadata)
                        .containsPattern("\"name\": \"" + name
                                + "\",\\s+\"type\": \"[^\"]+\",\\s+\"description\": \"[^\"]{10}"));
    }

    private static List<String> names(String prefix, Class<?> type) {
        List<String> names = new ArrayList<>();
        for (RecordComponent property : type.getRecordComponents()) {
            String name = prefix + "."
                    + property.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
            names.addAll(property.getType().isRecord() ? names(name, property.getType()) : List.of(name));
        }
        return names;
    }

    @Test
    void switchedOffThereIsNothing() {
        try (ConfigurableApplicationContext without = Application.of(ObservedShop.class)
                .with("holdfast.enabled=false", "holdfast.datasource.maximum-pool-size=2")
                .run()) {
            assertThat(without.getBeansOfType(LockService.class)).isEmpty();
            assertThat(without.getBeanDefinitionNames())
                    .filteredOn(name -> name.contains("holdfast") && !name.startsWith("holdfastPropertiesTest"))
                    .as("what looks whether a method would run without its lock")
                    .allMatch(name -> Stream.of("Locked", "Limited", "ScheduledLock", "LeaderOnly", "Advice")
                            .anyMatch(name::contains));
        }
    }

    @Import(Shop.class)
    static class ObservedShop {
        @Bean
        MeterRegistry meters() {
            return new SimpleMeterRegistry();
        }

        @Bean
        ObservationRegistry observations() {
            return ObservationRegistry.create();
        }
    }

    @EnableAutoConfiguration
    static class WithBeans {

        final List<String> acquired = new CopyOnWriteArrayList<>();

        @Bean
        LockListener listener() {
            return new LockListener() {
                @Override
                public void acquired(String lockName, long fencingToken, Duration waited) {
                    acquired.add(lockName);
                }
            };
        }

        @Bean
        LockServiceBuilderCustomizer customizer() {
            return builder -> builder.application("customized");
        }
    }
}
