package io.github.holdfast.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.JavaSources;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.integration.channel.QueueChannel;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.leader.Context;
import org.springframework.integration.support.MessageBuilder;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageChannel;

/** The code of the page on migration, compiled and run: in applications before, during and after the change. */
@SuppressWarnings("LockNotBeforeTry") // what a test has locked ends with the test
@OnDatabase(TestDatabase.H2_TCP)
class MigrationPageTest {

    @Test
    void theCodeOfThePageRunsBeforeDuringAndAfterTheChange(Database database, @TempDir Path directory)
            throws Exception {
        FormerNode.createTables(database);
        List<String> blocks = JavaSources.blocksOf("migrate/migrating-from-spring-integration.md");
        assertThat(blocks).hasSize(6);
        JavaSources.in(directory)
                .file("Page", PAGE.formatted(blocks.toArray()))
                .compile(directory, System.getProperty("java.class.path"));
        try (URLClassLoader loader = new URLClassLoader(
                        new URL[] {directory.toUri().toURL()}, getClass().getClassLoader());
                ConfigurableApplicationContext before = start(database, loader, "Before");
                ConfigurableApplicationContext during = start(database, loader, "During");
                ConfigurableApplicationContext after = start(database, loader, "After")) {
            assertThat(registry(before)).isInstanceOf(JdbcLockRegistry.class);
            assertThat(registry(during)).isInstanceOf(TransitionLockRegistry.class);
            assertThat(registry(after)).isInstanceOf(HoldfastLockRegistry.class);
            for (ConfigurableApplicationContext application : List.of(before, during, after)) {
                assertThat(work(loader, registry(application))).containsExactly("order:1001", "order:1002");
                assertThatOrdersAreAggregated(application);
            }
            Context elected = after.getBean(HoldfastLeaderInitiator.class).getContext();
            await().atMost(Worker.LONG).until(elected::isLeader);
            assertThatOneExcludesTheOther(before, during);
            assertThatOneExcludesTheOther(during, after);
        }
    }

    private static ConfigurableApplicationContext start(Database database, ClassLoader loader, String name)
            throws Exception {
        return Application.start(database, loader.loadClass("example.Page$" + name));
    }

    @SuppressWarnings("unchecked")
    private static LockRegistry<DistributedLock> registry(ConfigurableApplicationContext application) {
        return application.getBean(LockRegistry.class);
    }

    @SuppressWarnings("unchecked")
    private static List<String> work(ClassLoader loader, LockRegistry<DistributedLock> registry) throws Exception {
        return (List<String>) loader.loadClass("example.Page")
                .getMethod("work", LockRegistry.class)
                .invoke(null, registry);
    }

    private static void assertThatOrdersAreAggregated(ConfigurableApplicationContext application) {
        for (int number = 1; number <= 2; number++) {
            application
                    .getBean("positions", MessageChannel.class)
                    .send(MessageBuilder.withPayload("lamp " + number)
                            .setCorrelationId("order")
                            .setSequenceNumber(number)
                            .setSequenceSize(2)
                            .build());
        }
        Message<?> order = Objects.requireNonNull(
                application.getBean("orders", QueueChannel.class).receive(0), "an order");
        assertThat(order.getPayload()).isEqualTo(List.of("lamp 1", "lamp 2"));
    }

    private static void assertThatOneExcludesTheOther(
            ConfigurableApplicationContext one, ConfigurableApplicationContext other) throws Exception {
        DistributedLock lock = registry(one).obtain("excluded");
        DistributedLock wanted = registry(other).obtain("excluded");
        try (Worker worker = new Worker()) {
            lock.lock();
            assertThat(worker.call(() -> wanted.tryLock(10, TimeUnit.MILLISECONDS)))
                    .isFalse();
            lock.unlock();
            assertThat(wanted.tryLock()).isTrue();
            assertThat(worker.call(() -> lock.tryLock(10, TimeUnit.MILLISECONDS)))
                    .isFalse();
            wanted.unlock();
        }
    }

    private static final String PAGE = """
            package example;

            import io.github.holdfast.integration.HoldfastLeaderInitiator;
            import io.github.holdfast.integration.HoldfastLockRegistry;
            import io.github.holdfast.service.LockService;
            import java.util.ArrayList;
            import java.util.List;
            import javax.sql.DataSource;
            import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
            import org.springframework.context.annotation.Bean;
            import org.springframework.context.annotation.Import;
            import org.springframework.context.annotation.Primary;
            import org.springframework.integration.channel.QueueChannel;
            import org.springframework.integration.config.EnableIntegration;
            import org.springframework.integration.dsl.IntegrationFlow;
            import org.springframework.integration.jdbc.lock.*;
            import org.springframework.integration.leader.DefaultCandidate;
            import org.springframework.integration.store.MessageGroupStore;
            import org.springframework.integration.store.SimpleMessageStore;
            import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
            import org.springframework.integration.support.locks.*;

            public class Page {

                public static List<String> work(LockRegistry<DistributedLock> registry) throws Exception {
                    Warehouse warehouse = new Warehouse();
                    %s
                    %s
                    return warehouse.shipped;
                }

                static class Warehouse {
                    final List<String> shipped = new ArrayList<>();

                    void ship(String order) {
                        shipped.add(order);
                    }
                }

                static class Former {
                    %s
                }

                static class Flows {
                    %s

                    @Bean
                    MessageGroupStore store() {
                        return new SimpleMessageStore();
                    }

                    @Bean
                    QueueChannel orders() {
                        return new QueueChannel();
                    }
                }

                static class Elected {
                    %s
                }

                static class Transition {
                    %s
                }

                @EnableAutoConfiguration
                @EnableIntegration
                @Import({Former.class, Flows.class})
                static class Before {}

                @EnableAutoConfiguration
                @EnableIntegration
                @Import({Former.class, Transition.class, Flows.class})
                static class During {}

                @EnableAutoConfiguration
                @EnableIntegration
                @Import({Flows.class, Elected.class})
                static class After {}
            }
            """;
}
