package io.github.holdfast.integration;

import static io.github.holdfast.integration.Worker.LONG;
import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.Environment;
import org.springframework.integration.annotation.Poller;
import org.springframework.integration.annotation.Role;
import org.springframework.integration.annotation.ServiceActivator;
import org.springframework.integration.channel.QueueChannel;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.leader.AbstractCandidate;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.event.LeaderEventPublisher;
import org.springframework.integration.leader.event.OnGrantedEvent;
import org.springframework.integration.leader.event.OnRevokedEvent;
import org.springframework.integration.support.SmartLifecycleRoleController;
import org.springframework.messaging.MessageHandler;

/** Spring Integration's candidates in an election of Holdfast, in two applications. */
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL}) // Interrupts: in memory, H2 hides them.
class HoldfastLeaderInitiatorTest {

    private static final String ROLE = "importer";

    /** What both applications' candidates and listeners were told, in order. */
    private static final List<String> TOLD = Collections.synchronizedList(new ArrayList<>());

    private ConfigurableApplicationContext first;
    private ConfigurableApplicationContext second;

    @BeforeEach
    void start(Database database) {
        TOLD.clear();
        first = application(database, "first");
        awaitTold("first granted", "first heard of it");
        second = application(database, "second");
    }

    @AfterEach
    void stop() {
        second.close();
        first.close();
    }

    private static ConfigurableApplicationContext application(Database database, String id) {
        // A heartbeat each three seconds, so that a forced release is noticed soon.
        return Application.start(database, Electing.class, "candidate.id=" + id, "holdfast.node-lease=9s");
    }

    private static void awaitTold(String... told) {
        await().atMost(LONG).untilAsserted(() -> assertThat(TOLD).containsExactly(told));
    }

    private static HoldfastLeaderInitiator initiator(ConfigurableApplicationContext application) {
        return application.getBean(HoldfastLeaderInitiator.class);
    }

    private static boolean isLeader(ConfigurableApplicationContext application) {
        return initiator(application).getContext().isLeader();
    }

    /** Whether the endpoint of the role runs. */
    private static boolean isImporting(ConfigurableApplicationContext application) {
        return application.getBean(SmartLifecycleRoleController.class).allEndpointsRunning(ROLE);
    }

    @Test
    void theNextOneLeadsWhenTheLeaderStopsAndTheEndpointsOfTheRoleFollow() {
        await().atMost(LONG).until(() -> isImporting(first));
        await().during(Duration.ofSeconds(1)).atMost(LONG).until(() -> isLeader(first) && !isLeader(second));
        assertThat(isImporting(second)).isFalse();
        assertThat(initiator(first).getContext().getRole()).isEqualTo(ROLE);
        first.close();
        awaitSecondAfterFirst();
        await().atMost(LONG).until(() -> isImporting(second));
    }

    private void awaitSecondAfterFirst() {
        awaitTold(
                "first granted",
                "first heard of it",
                "first revoked",
                "first heard of the end",
                "second granted",
                "second heard of it");
        assertThat(isLeader(second)).isTrue();
    }

    @Test
    void aLeaderThatYieldsMakesRoom() {
        yieldTo(second, first);
        await().atMost(LONG)
                .untilAsserted(() -> assertThat(TOLD)
                        .startsWith("first granted", "first heard of it", "first revoked", "first heard of the end")
                        .endsWith("second granted", "second heard of it"));
        assertThat(isLeader(first)).isFalse();
        int told = TOLD.size();
        yieldTo(first, second);
        assertThat(TOLD.subList(told, told + 2)).containsExactly("second revoked", "second heard of the end");
    }

    /** On a busy machine, a leader that has yielded may lead again before the other one has seen that it may. Then it yields again. */
    private static void yieldTo(ConfigurableApplicationContext next, ConfigurableApplicationContext leader) {
        await().atMost(LONG).until(() -> {
            if (isLeader(leader)) {
                initiator(leader).getContext().yield();
            }
            return isLeader(next);
        });
    }

    @Test
    void anInitiatorIsStoppedAndStartedAgain() {
        initiator(second).stop();
        assertThat(initiator(second).isRunning()).isFalse();
        initiator(first).stop();
        awaitTold("first granted", "first heard of it", "first revoked", "first heard of the end");
        assertThat(initiator(first).isRunning()).isFalse();
        assertThat(isLeader(first)).isFalse();
        initiator(first).start();
        assertThat(initiator(first).isRunning()).isTrue();
        await().atMost(LONG).until(() -> isLeader(first));
    }

    @Test
    void aLeaderThatLosesItsLockIsRevokedBeforeAnotherIsGranted() {
        assertThat(second.getBean(LockService.class).admin().forceRelease(ROLE, "test"))
                .isPresent();
        awaitSecondAfterFirst();
    }

    @Test
    void aListenerThatFailsDoesNotEndTheLeadership() {
        initiator(second).setLeaderEventPublisher(new FailingPublisher());
        first.close();
        await().atMost(LONG).until(() -> isLeader(second));
        // Longer than a leader rests after a failure, which would be told.
        await().during(Duration.ofSeconds(2)).atMost(LONG).until(() -> isLeader(second));
        initiator(second).stop();
        awaitTold(
                "first granted",
                "first heard of it",
                "first revoked",
                "first heard of the end",
                "second granted",
                "second revoked");
    }

    /** Otherwise the endpoints of the role would start while another node leads. If the revocation came first, they would not stop again. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCandidateThatReturnsAfterItsLeadershipIsNotPublishedAsLeader(boolean returnsLate) {
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        AbstractCandidate candidate = new AbstractCandidate("third", "archivist") {
            @Override
            public void onGranted(Context context) {
                told.add("granted");
                while (context.isLeader() || (returnsLate && !told.contains("published the end"))) {
                    LockSupport.parkNanos(1_000_000);
                }
            }

            @Override
            public void onRevoked(Context context) {}
        };
        HoldfastLeaderInitiator third = HoldfastLeaderInitiator.of(first.getBean(LockService.class), candidate);
        third.setLeaderEventPublisher(new RecordingPublisher(told));
        third.start();
        await().atMost(LONG).until(() -> told.contains("granted"));
        third.stop();
        await().atMost(LONG).until(() -> told.contains("published the end"));
        third.start();
        await().atMost(LONG).until(() -> Collections.frequency(told, "granted") == 2);
        third.stop();
        assertThat(told).doesNotContain("published");
    }

    private record RecordingPublisher(List<String> told) implements LeaderEventPublisher {

        @Override
        public void publishOnGranted(Object source, Context context, String role) {
            told.add("published");
        }

        @Override
        public void publishOnRevoked(Object source, Context context, String role) {
            told.add("published the end");
        }

        @Override
        public void publishOnFailedToAcquire(Object source, Context context, String role) {}
    }

    private static final class FailingPublisher implements LeaderEventPublisher {

        @Override
        public void publishOnGranted(Object source, Context context, String role) {
            throw new IllegalStateException("a listener failed");
        }

        @Override
        public void publishOnRevoked(Object source, Context context, String role) {
            throw new IllegalStateException("a listener failed");
        }

        @Override
        public void publishOnFailedToAcquire(Object source, Context context, String role) {}
    }

    @EnableAutoConfiguration
    @EnableIntegration
    static class Electing {

        @Bean
        AbstractCandidate candidate(Environment environment) {
            return new AbstractCandidate(environment.getRequiredProperty("candidate.id"), ROLE) {
                @Override
                public void onGranted(Context context) {
                    TOLD.add(getId() + (context.isLeader() ? " granted" : " granted although it does not lead"));
                }

                @Override
                public void onRevoked(Context context) {
                    TOLD.add(getId() + (context.isLeader() ? " revoked although it leads" : " revoked"));
                }
            };
        }

        @Bean
        HoldfastLeaderInitiator initiator(LockService locks, AbstractCandidate candidate) {
            return HoldfastLeaderInitiator.of(locks, candidate);
        }

        @Bean
        Listener listener(AbstractCandidate candidate) {
            return new Listener(candidate.getId());
        }

        @Bean
        QueueChannel files() {
            return new QueueChannel();
        }

        @Bean
        @Role(ROLE)
        @ServiceActivator(inputChannel = "files", poller = @Poller(fixedDelay = "1000"), autoStartup = "false")
        MessageHandler importer() {
            return message -> {};
        }
    }

    record Listener(String id) {

        @EventListener
        void granted(OnGrantedEvent event) {
            TOLD.add(id + " heard of it");
            assertThat(event.getRole()).isEqualTo(ROLE);
        }

        @EventListener
        void revoked(OnRevokedEvent event) {
            TOLD.add(id + " heard of the end");
            assertThat(event.getRole()).isEqualTo(ROLE);
        }
    }
}
