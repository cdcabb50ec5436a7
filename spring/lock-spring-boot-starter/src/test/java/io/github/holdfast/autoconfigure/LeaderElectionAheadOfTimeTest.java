package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An application with an election, processed ahead of time: its election is a bean, is started, and guards a method. */
@Tag("long")
class LeaderElectionAheadOfTimeTest {

    private static final Duration LONG = Duration.ofMinutes(10);

    @Test
    void theElectionIsABeanAndIsStarted(@TempDir Path directory) throws Exception {
        NewApplication application = new NewApplication(directory, "example.Shop")
                .source("Shop", SHOP)
                .source("Reports", REPORTS)
                .resource("application.properties", "spring.datasource.url=jdbc:h2:mem:ahead\n")
                .compile()
                .processAheadOfTime();
        try (JavaProcess shop =
                application.process().jvmArgs("-Dspring.aot.enabled=true").start()) {
            assertThat(shop.awaitLine(line -> line.startsWith("granted"), LONG)).isEqualTo("granted reports");
            assertThat(shop.awaitLine(line -> line.startsWith("written"), LONG)).isEqualTo("written by the leader");
            assertThat(shop.awaitLine(line -> line.startsWith("revoked"), LONG)).isEqualTo("revoked RESIGNED");
            assertThat(shop.waitFor(LONG)).isZero();
        }
    }

    private static final String REPORTS = """
            package example;

            import io.github.holdfast.annotation.LeaderOnly;
            import io.github.holdfast.event.*;
            import java.util.concurrent.CountDownLatch;
            import org.springframework.context.event.EventListener;
            import org.springframework.stereotype.Service;

            @Service
            public class Reports {

                private final CountDownLatch granted = new CountDownLatch(1);

                public void awaitLeadership() throws InterruptedException {
                    granted.await();
                }

                @LeaderOnly("reports")
                public void write() {
                    System.out.println("written by the leader");
                }

                @EventListener
                public void granted(LeadershipGrantedEvent event) {
                    System.out.println("granted " + event.election());
                    granted.countDown();
                }

                @EventListener
                public void revoked(LeadershipRevokedEvent event) {
                    System.out.println("revoked " + event.cause());
                }
            }
            """;

    private static final String SHOP = """
            package example;

            import io.github.holdfast.election.ElectionRequest;
            import org.springframework.boot.SpringApplication;
            import org.springframework.boot.autoconfigure.SpringBootApplication;
            import org.springframework.context.ConfigurableApplicationContext;
            import org.springframework.context.annotation.Bean;

            @SpringBootApplication
            public class Shop {

                @Bean
                public ElectionRequest election() {
                    return ElectionRequest.of("reports");
                }

                public static void main(String[] args) throws Exception {
                    try (ConfigurableApplicationContext context = SpringApplication.run(Shop.class, args)) {
                        Reports reports = context.getBean(Reports.class);
                        reports.awaitLeadership();
                        reports.write();
                    }
                }
            }
            """;
}
