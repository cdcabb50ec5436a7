package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.JavaHome;
import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.process.JavaProcessBuilder;
import io.github.holdfast.test.sources.JavaSources;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A new application, made of the lines that the README shows, and run in a JVM of its own. */
class ReadmeTest {

    private static final Duration LONG = Duration.ofMinutes(2);

    private static String section;
    private static NewApplication application;

    @BeforeAll
    static void makeApplication(@TempDir Path directory) throws Exception {
        String readme = Files.readString(ProjectDirectory.resolve("README.md"));
        section = readme.substring(readme.indexOf("\n## Spring Boot\n"), readme.indexOf("\n## Without Spring Boot\n"));
        List<String> code = JavaSources.blocksOf("../README.md");
        assertThat(code)
                .as("two methods, and the code of the example quickstart")
                .hasSize(3);
        application = new NewApplication(directory, "example.Shop")
                .source("Stock", STOCK.formatted(code.get(0)))
                .source("NightlyCount", NIGHTLY_COUNT.formatted(code.get(1)))
                .source("Item", ITEM)
                .source("ItemRepository", REPOSITORY)
                .source("Shop", SHOP)
                .resource("application.properties", block("properties"))
                .compile();
    }

    private static String block(String language) {
        return Pattern.compile("```" + language + "\n(.*?)\n```", Pattern.DOTALL)
                .matcher(section)
                .results()
                .findFirst()
                .orElseThrow()
                .group(1);
    }

    @Test
    void theDependencyIsThisModule() throws Exception {
        String pom = Files.readString(Path.of("pom.xml"));

        assertThat(block("xml").lines().map(String::strip))
                .contains("<artifactId>lock-spring-boot-starter</artifactId>")
                .allSatisfy(line -> assertThat(pom).contains(line));
        assertThat(pom).containsPattern("<artifactId>spring-boot-liquibase</artifactId>\\s+<optional>true</optional>");
    }

    @Test
    void theApplicationRuns() throws Exception {
        Optional<Path> jdkWithVirtualThreads = JavaHome.ofVersion(25);

        String sale = jdkWithVirtualThreads.isEmpty()
                ? sale(application.process())
                : sale(application
                        .process()
                        .javaHome(jdkWithVirtualThreads.get())
                        .jvmArgs("-Dspring.threads.virtual.enabled=true"));

        assertThat(sale).matches(jdkWithVirtualThreads.isEmpty() ? SOLD : "2 left, sold by VirtualThread\\[.*");
    }

    @Test
    void theApplicationRunsProcessedAheadOfTime() throws Exception {
        application.processAheadOfTime();

        // Not by Hibernate but by the SQL that ships: "update" finds the tables of the locks.
        assertThat(sale(application
                        .process()
                        .jvmArgs("-Dspring.aot.enabled=true", "-Dspring.jpa.hibernate.ddl-auto=update")))
                .matches(SOLD);
    }

    /** Sells a lamp and counts, each under its lock. The second count comes too early. */
    private static String sale(JavaProcessBuilder process) throws InterruptedException {
        try (JavaProcess shop = process.start()) {
            String line = shop.awaitLine(output -> output.contains(" left, sold by "), LONG);
            assertThat(shop.waitFor(LONG)).isZero();
            assertThat(shop.lines())
                    .containsOnlyOnce("acquired stock:lamp", "acquired nightly-count")
                    .filteredOn(output -> output.endsWith(" 1 items in stock"))
                    .hasSize(1);
            return line;
        }
    }

    /** Newer JDKs put the thread's number before its name. */
    private static final String SOLD = "2 left, sold by Thread\\[(#\\d+,)?task-1.*";

    private static final String STOCK = """
            package example;

            import io.github.holdfast.annotation.Locked;
            import org.springframework.stereotype.Service;
            import org.springframework.transaction.annotation.Transactional;

            @Service
            public class Stock {

                private final ItemRepository items;

                Stock(ItemRepository items) {
                    this.items = items;
                }

            %s
            }
            """;

    private static final String NIGHTLY_COUNT = """
            package example;

            import io.github.holdfast.annotation.ScheduledLock;
            import org.slf4j.Logger;
            import org.slf4j.LoggerFactory;
            import org.springframework.scheduling.annotation.Scheduled;
            import org.springframework.stereotype.Component;

            @Component
            public class NightlyCount {

                private static final Logger log = LoggerFactory.getLogger(NightlyCount.class);

                private final ItemRepository items;

                NightlyCount(ItemRepository items) {
                    this.items = items;
                }

            %s
            }
            """;

    private static final String ITEM = """
            package example;

            import jakarta.persistence.Entity;
            import jakarta.persistence.Id;

            @Entity
            class Item {

                @Id
                String name;
                int pieces;

                Item() {}

                Item(String name, int pieces) {
                    this.name = name;
                    this.pieces = pieces;
                }

                void sellOne() {
                    pieces--;
                }
            }
            """;

    private static final String REPOSITORY = """
            package example;

            import org.springframework.data.jpa.repository.JpaRepository;

            interface ItemRepository extends JpaRepository<Item, String> {}
            """;

    private static final String SHOP = """
            package example;

            import io.github.holdfast.lock.LockListener;
            import java.time.Duration;
            import org.springframework.boot.SpringApplication;
            import org.springframework.boot.autoconfigure.SpringBootApplication;
            import org.springframework.context.ConfigurableApplicationContext;
            import org.springframework.context.annotation.Bean;
            import org.springframework.core.task.AsyncTaskExecutor;
            import org.springframework.scheduling.annotation.EnableScheduling;

            @EnableScheduling
            @SpringBootApplication
            public class Shop {

                @Bean
                LockListener acquisitions() {
                    return new LockListener() {
                        @Override
                        public void acquired(String lockName, long fencingToken, Duration waited) {
                            System.out.println("acquired " + lockName);
                        }
                    };
                }

                public static void main(String[] args) throws Exception {
                    try (ConfigurableApplicationContext context = SpringApplication.run(Shop.class, args)) {
                        ItemRepository items = context.getBean(ItemRepository.class);
                        items.save(new Item("lamp", 3));
                        Thread seller = context.getBean("applicationTaskExecutor", AsyncTaskExecutor.class)
                                .submit(() -> {
                                    context.getBean(Stock.class).sellOne("lamp");
                                    return Thread.currentThread();
                                })
                                .get();
                        NightlyCount nightly = context.getBean(NightlyCount.class);
                        nightly.count();
                        nightly.count();
                        System.out.println(items.findById("lamp").get().pieces + " left, sold by " + seller);
                    }
                }
            }
            """;
}
