package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.sources.RecordedReflection;
import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An application with locks and annotated methods, processed ahead of time and started from what that generated. */
@Tag("long")
class AheadOfTimeTest {

    private static final Duration LONG = Duration.ofMinutes(10);

    @TempDir
    private static Path directory;

    private static NewApplication application;

    @BeforeAll
    static void process() throws Exception {
        application = new NewApplication(directory, "example.Shop")
                .source("Shop", SHOP)
                .source("Order", ORDER)
                .source("Warehouse", WAREHOUSE)
                .source("Report", REPORT)
                .resource("application.properties", "spring.datasource.url=jdbc:h2:mem:ahead\n")
                .compile()
                .processAheadOfTime();
    }

    @Test
    void itsLocksAndAnnotatedMethodsWork() throws Exception {
        try (JavaProcess shop =
                application.process().jvmArgs("-Dspring.aot.enabled=true").start()) {
            assertThat(shop.waitFor(LONG)).as("%s", shop.lines()).isZero();
            assertThat(shop.lines())
                    .contains(
                            "held by hand: true, then: false",
                            "shipped 17 under the lock: true",
                            "busy 17",
                            "packed 17 under the permit: true",
                            "reported under the lock: true",
                            "generated: Warehouse true, Report true");
        }
    }

    @Test
    void whatItReachesByReflectionIsAllowedInANativeImage() throws Exception {
        try (JavaProcess shop = application
                .add(HintsCheck.class)
                .add(RecordedReflection.class)
                .process(HintsCheck.class.getName())
                .jvmArgs(
                        "-cp",
                        application.classPath() + jackson(),
                        "-Dspring.aot.enabled=true",
                        RecordedReflection.agent())
                .args("example.Shop", application.reachabilityMetadata().toString())
                .start()) {
            assertThat(shop.waitFor(LONG)).as("%s", shop.lines()).isZero();
            assertThat(shop.lines()).noneMatch(line -> line.startsWith("missing"));
            assertThat(shop.lines()).anyMatch(line -> line.matches("covered: \\d{2,}"));
        }
    }

    /** Reads the generated file. Without the modules of Spring Boot for it, it changes nothing in the application. */
    private static String jackson() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> Path.of(entry).getFileName().toString().startsWith("jackson-"))
                .map(entry -> File.pathSeparator + entry)
                .collect(Collectors.joining());
    }

    private static final String ORDER = """
            package example;

            public record Order(String id) {}
            """;

    private static final String WAREHOUSE = """
            package example;

            import io.github.holdfast.annotation.*;
            import io.github.holdfast.service.LockService;
            import org.springframework.stereotype.Service;

            @Service
            public class Warehouse {

                private final LockService locks;

                Warehouse(LockService locks) {
                    this.locks = locks;
                }

                @Locked(name = "order-{#order.id}", waitAtMost = "0s", fallback = "busy")
                public String ship(Order order) {
                    return "shipped " + order.id() + " under the lock: " + locks.find("order-" + order.id()).isPresent();
                }

                String busy(Order order) {
                    return "busy " + order.id();
                }

                @Limited(name = "packers", limit = "2")
                public String pack(Order order) {
                    return "packed " + order.id() + " under the permit: "
                            + (locks.admin().semaphores().find("packers").orElseThrow().used() == 1);
                }
            }
            """;

    private static final String REPORT = """
            package example;

            import io.github.holdfast.annotation.ScheduledLock;
            import io.github.holdfast.service.LockService;
            import java.util.concurrent.CountDownLatch;
            import org.springframework.scheduling.annotation.Scheduled;
            import org.springframework.stereotype.Component;

            @Component
            public class Report {

                private final CountDownLatch written = new CountDownLatch(1);
                private final LockService locks;

                Report(LockService locks) {
                    this.locks = locks;
                }

                @Scheduled(fixedDelayString = "PT1H")
                @ScheduledLock(name = "report", every = "1h")
                public void write() {
                    System.out.println("reported under the lock: " + locks.find("report").isPresent());
                    written.countDown();
                }

                public void await() throws InterruptedException {
                    written.await();
                }
            }
            """;

    private static final String SHOP = """
            package example;

            import io.github.holdfast.lock.*;
            import io.github.holdfast.service.LockService;
            import java.util.concurrent.CompletableFuture;
            import org.springframework.boot.SpringApplication;
            import org.springframework.boot.autoconfigure.SpringBootApplication;
            import org.springframework.context.ConfigurableApplicationContext;
            import org.springframework.scheduling.annotation.EnableScheduling;

            @SpringBootApplication
            @EnableScheduling
            public class Shop {

                public static void main(String[] args) throws Exception {
                    try (ConfigurableApplicationContext context = SpringApplication.run(Shop.class, args)) {
                        LockService locks = context.getBean(LockService.class);
                        boolean isHeld;
                        try (LockHandle byHand = locks.acquire(LockRequest.of("by hand"))) {
                            isHeld = locks.find("by hand").isPresent();
                        }
                        System.out.println("held by hand: " + isHeld + ", then: " + locks.find("by hand").isPresent());
                        Warehouse warehouse = context.getBean(Warehouse.class);
                        Order order = new Order("17");
                        System.out.println(warehouse.ship(order));
                        try (LockHandle other = locks.acquire(LockRequest.of("order-17"))) {
                            System.out.println(CompletableFuture.supplyAsync(() -> warehouse.ship(order)).get());
                        }
                        System.out.println(warehouse.pack(order));
                        Report report = context.getBean(Report.class);
                        report.await();
                        System.out.println("generated: Warehouse " + isGenerated(warehouse)
                                + ", Report " + isGenerated(report));
                    }
                }

                /** Whether the class of a bean's proxy is from the files that were generated ahead of time. */
                private static boolean isGenerated(Object bean) {
                    String file = bean.getClass().getName().replace('.', '/') + ".class";
                    return Shop.class.getClassLoader().getResource(file) != null;
                }
            }
            """;
}
