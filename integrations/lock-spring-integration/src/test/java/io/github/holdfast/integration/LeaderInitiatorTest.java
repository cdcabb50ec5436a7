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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.leader.AbstractCandidate;
import org.springframework.integration.leader.Context;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.LockRegistry;

/** Spring Integration's leader election by a lock, in two applications. */
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL}) // Interrupts: in memory, H2 hides them.
class LeaderInitiatorTest {

    private static final String ROLE = "importer";

    /** What both applications' candidates were told, in order. */
    private static final List<String> EVENTS = Collections.synchronizedList(new ArrayList<>());

    private ConfigurableApplicationContext first;
    private ConfigurableApplicationContext second;

    @BeforeEach
    void start(Database database) {
        EVENTS.clear();
        first = application(database, "first");
        awaitEvents("first granted");
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

    private static void awaitEvents(String... events) {
        await().atMost(LONG).untilAsserted(() -> assertThat(EVENTS).containsExactly(events));
    }

    /** Awaits that these led, one after the other. Spring's leader unlocks before it tells its candidate, so the next one may be told first. */
    private static void awaitTurns(String... leaders) {
        await().atMost(LONG).untilAsserted(() -> {
            List<String> events = List.copyOf(EVENTS);
            assertThat(events).hasSize(2 * leaders.length - 1).startsWith(leaders[0] + " granted");
            for (int turn = 1; turn < leaders.length; turn++) {
                assertThat(events.subList(2 * turn - 1, 2 * turn + 1))
                        .containsExactlyInAnyOrder(leaders[turn - 1] + " revoked", leaders[turn] + " granted");
            }
        });
    }

    private static boolean isLeader(ConfigurableApplicationContext application) {
        return application
                .getBean(LockRegistryLeaderInitiator.class)
                .getContext()
                .isLeader();
    }

    @Test
    void oneLeadsForMuchLongerThanAHeartbeatAndTheOtherFollowsItsStop() {
        await().during(Duration.ofSeconds(2)).atMost(LONG).until(() -> isLeader(first) && !isLeader(second));
        first.close();
        awaitTurns("first", "second");
        assertThat(isLeader(second)).isTrue();
    }

    @Test
    void aLeaderThatYieldsMakesRoom() {
        first.getBean(LockRegistryLeaderInitiator.class).stop();
        awaitTurns("first", "second");
        first.getBean(LockRegistryLeaderInitiator.class).start();
        second.getBean(LockRegistryLeaderInitiator.class).stop();
        awaitTurns("first", "second", "first");
    }

    @Test
    void aLeaderThatLosesItsLockIsRevokedBeforeAnotherIsGranted() {
        assertThat(second.getBean(LockService.class).admin().forceRelease("DEFAULT:" + ROLE, "test"))
                .isPresent();
        await().atMost(LONG).until(() -> EVENTS.size() >= 3);
        assertThat(EVENTS.subList(0, 2)).containsExactly("first granted", "first revoked");
        assertThat(EVENTS.get(2)).endsWith("granted");
        await().during(Duration.ofSeconds(1)).atMost(LONG).until(() -> isLeader(first) != isLeader(second));
        assertThat(EVENTS).hasSize(3);
    }

    @Test
    void aLeaderThatLosesItsLockIsRevokedEvenIfNobodyElseLeads() {
        second.getBean(LockRegistryLeaderInitiator.class).stop();
        assertThat(second.getBean(LockService.class).admin().forceRelease("DEFAULT:" + ROLE, "test"))
                .isPresent();
        awaitEvents("first granted", "first revoked", "first granted");
        second.getBean(LockRegistryLeaderInitiator.class).start();
        await().during(Duration.ofSeconds(1)).atMost(LONG).until(() -> isLeader(first) && !isLeader(second));
    }

    @EnableAutoConfiguration
    @EnableIntegration
    static class Electing {

        @Bean
        AbstractCandidate candidate(Environment environment) {
            return new AbstractCandidate(environment.getRequiredProperty("candidate.id"), ROLE) {
                @Override
                public void onGranted(Context context) {
                    EVENTS.add(getId() + " granted");
                }

                @Override
                public void onRevoked(Context context) {
                    EVENTS.add(getId() + " revoked");
                }
            };
        }

        @Bean
        LockRegistryLeaderInitiator initiator(LockRegistry<?> locks, AbstractCandidate candidate) {
            LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(locks, candidate);
            initiator.setHeartBeatMillis(100);
            return initiator;
        }
    }
}
