package io.github.holdfast.integration;

import static io.github.holdfast.integration.Worker.LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.integration.aggregator.MessageCountReleaseStrategy;
import org.springframework.integration.channel.QueueChannel;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.dsl.IntegrationFlow;
import org.springframework.integration.jdbc.store.JdbcMessageStore;
import org.springframework.integration.support.MessageBuilder;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageChannel;

/** An aggregator in two applications that share their messages: only one of them may work on a group at a time. */
@OnEachDatabase
@TestInstance(Lifecycle.PER_CLASS)
class AggregatorTest {

    private static final int GROUPS = 30;
    private static final int MESSAGES = 8;

    private List<ConfigurableApplicationContext> applications;

    @BeforeAll
    void start(Database database) {
        FormerNode.createTables(database);
        String region = "holdfast.spring-integration.region=orders";
        applications = List.of(
                Application.start(database, Aggregating.class, region),
                Application.start(database, Aggregating.class, region));
    }

    @AfterAll
    void stop() {
        applications.forEach(ConfigurableApplicationContext::close);
    }

    @Test
    void eachGroupIsReleasedOnceWithAllItsMessages() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(MESSAGES);
        try {
            for (int group = 0; group < GROUPS; group++) {
                for (Future<Boolean> sent : threads.invokeAll(senders(group), LONG.toSeconds(), TimeUnit.SECONDS)) {
                    assertThat(sent.get()).isTrue();
                }
            }
        } finally {
            threads.shutdownNow();
        }
        List<Set<Object>> released = applications.stream()
                .map(application -> application.getBean("wholes", QueueChannel.class))
                .flatMap(wholes -> wholes.clear().stream())
                .<Set<Object>>map(message -> new TreeSet<>((Collection<?>) message.getPayload()))
                .toList();
        assertThat(released)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, GROUPS)
                        .<Set<Object>>mapToObj(group -> new TreeSet<>(payloads(group)))
                        .toList());
        assertThat(applications)
                .allSatisfy(application -> assertThat(
                                application.getBean(HoldfastLockRegistry.class).region())
                        .isEqualTo("orders"));
    }

    private static List<String> payloads(int group) {
        return IntStream.range(0, MESSAGES)
                .mapToObj(number -> group + ":" + number)
                .toList();
    }

    /** The messages of a group come at once, and by turns to both applications. */
    private List<Callable<Boolean>> senders(int group) {
        CyclicBarrier start = new CyclicBarrier(MESSAGES);
        List<Callable<Boolean>> senders = new ArrayList<>();
        for (String payload : payloads(group)) {
            MessageChannel parts = applications.get(senders.size() % 2).getBean("parts", MessageChannel.class);
            Message<String> message = MessageBuilder.withPayload(payload)
                    .setCorrelationId("group " + group)
                    .build();
            senders.add(() -> {
                start.await();
                return parts.send(message);
            });
        }
        return senders;
    }

    @EnableAutoConfiguration
    @EnableIntegration
    static class Aggregating {

        @Bean
        JdbcMessageStore messages(DataSource dataSource) {
            return new JdbcMessageStore(dataSource);
        }

        @Bean
        QueueChannel wholes() {
            return new QueueChannel();
        }

        @Bean
        IntegrationFlow aggregation(JdbcMessageStore messages, LockRegistry<?> locks) {
            return IntegrationFlow.from("parts")
                    .aggregate(aggregator -> aggregator
                            .messageStore(messages)
                            .lockRegistry(locks)
                            .releaseStrategy(new MessageCountReleaseStrategy(MESSAGES))
                            .expireGroupsUponCompletion(true))
                    .channel("wholes")
                    .get();
        }
    }
}
