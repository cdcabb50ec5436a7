package io.github.holdfast.autoconfigure.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.example.shop.Order;
import io.github.holdfast.actuate.LockHealthIndicator;
import io.github.holdfast.annotation.LeaderOnly;
import io.github.holdfast.autoconfigure.Application;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.RevocationCause;
import io.github.holdfast.event.LeadershipGrantedEvent;
import io.github.holdfast.event.LeadershipRevokedEvent;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;

/** Elections as beans: two applications, and what their methods, listeners, meters and health tell. */
@OnDatabase(TestDatabase.H2_MEMORY)
class ElectionBeansTest {

    private static final Duration SOON = Duration.ofSeconds(60);

    private static Application application(Database database, Class<?> configuration) {
        return Application.of(configuration)
                .with("spring.datasource.url=" + database.url(), "reports.election=reports");
    }

    private static double gauge(ConfigurableApplicationContext context, String election) {
        return context.getBean(MeterRegistry.class)
                .get("holdfast.leader")
                .tag("election", election)
                .gauge()
                .value();
    }

    private static String isLeader(ConfigurableApplicationContext context) {
        return String.valueOf(
                context.getBean(LockHealthIndicator.class).health().getDetails().get("isLeader"));
    }

    @Test
    void oneApplicationLeadsAndTheNextOneFollowsWhenItStops(Database database) {
        ConfigurableApplicationContext first =
                application(database, TwoElections.class).run();
        Reports reports = first.getBean(Reports.class);
        LeaderElection election = first.getBean("reportsElection", LeaderElection.class);
        await().atMost(SOON).until(election::isLeader);
        assertThat(reports.election()).isSameAs(election);
        assertThat(first.getBean("otherElection", LeaderElection.class).name()).isEqualTo("other");
        assertThat(reports.write()).isEqualTo(1);
        assertThat(reports.writeByProperty()).contains("written");
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(reports.events()).contains("granted reports", "granted other"));
        assertThat(gauge(first, "reports")).isEqualTo(1);
        assertThat(isLeader(first)).isEqualTo("{other=true, reports=true}");

        try (ConfigurableApplicationContext second =
                application(database, TwoElections.class).run()) {
            Reports idle = second.getBean(Reports.class);
            assertThat(idle.write()).isNull();
            assertThat(idle.writeByProperty()).isEmpty();
            assertThat(gauge(second, "reports")).isZero();
            assertThat(isLeader(second)).isEqualTo("{other=false, reports=false}");
            assertThat(idle.events()).isEmpty();

            first.close();
            assertThat(reports.events())
                    .contains(
                            "revoked reports RESIGNED, the lock is there: true",
                            "revoked other RESIGNED, the lock is there: true")
                    .hasSize(4);
            assertThat(election.isLeader()).isFalse();
            await().atMost(SOON).untilAsserted(() -> assertThat(idle.write()).isEqualTo(1));
        }
    }

    @Test
    void aLazyApplicationTakesPartToo(Database database) {
        try (ConfigurableApplicationContext context = application(database, TwoElections.class)
                .with("spring.main.lazy-initialization=true")
                .run()) {
            LeaderElection election = context.getBean("reportsElection", LeaderElection.class);
            await().atMost(SOON).until(election::isLeader);
        }
    }

    @Test
    void mistakesFailAtStartUp(Database database) {
        assertThatThrownBy(() -> application(database, NoElection.class).run().close())
                .hasStackTraceContaining("@LeaderOnly cannot be used on ")
                .hasStackTraceContaining("there is no election 'missing'. Declare a bean of type ElectionRequest");
        assertThatThrownBy(() -> application(database, Primitive.class).run().close())
                .hasStackTraceContaining("@LeaderOnly cannot be used on ")
                .hasStackTraceContaining("it returns int");
        assertThatThrownBy(() -> application(database, TwoElections.class)
                        .with("holdfast.enabled=false")
                        .run()
                        .close())
                .hasStackTraceContaining(
                        "No qualifying bean of type 'io.github.holdfast.service.LockService' available");
    }

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    @Import(Reports.class)
    static class TwoElections {

        @Bean
        ElectionRequest reports() {
            return ElectionRequest.of("reports");
        }

        @Bean
        ElectionRequest other() {
            return ElectionRequest.of("other");
        }

        @Bean
        MeterRegistry meters() {
            return new SimpleMeterRegistry();
        }
    }

    static class Reports {

        private final LockService locks;
        private final List<String> events = new CopyOnWriteArrayList<>();
        private final LeaderElection election;
        private int written;

        Reports(LockService locks, @Qualifier("reports") LeaderElection election) {
            this.locks = locks;
            this.election = election;
        }

        public LeaderElection election() {
            return election;
        }

        public List<String> events() {
            return events;
        }

        @LeaderOnly("reports")
        public @Nullable Integer write() {
            return ++written;
        }

        @LeaderOnly("${reports.election}")
        public Optional<String> writeByProperty() {
            return Optional.of("written");
        }

        @EventListener
        public void granted(LeadershipGrantedEvent event) {
            events.add("granted " + event.election());
        }

        @EventListener
        public void revoked(LeadershipRevokedEvent event) {
            RevocationCause cause = event.cause();
            events.add("revoked " + event.election() + " " + cause + ", the lock is there: "
                    + locks.find(event.election()).isPresent());
        }
    }

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class NoElection {

        @LeaderOnly("missing")
        public void work() {}
    }

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class Primitive {

        @Bean
        ElectionRequest reports() {
            return ElectionRequest.of("reports");
        }

        @LeaderOnly("reports")
        public int work() {
            return 1;
        }
    }
}
