package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.sources.JavaSources;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the page on choosing a lock, compiled and run in a new application. */
class ChoosingALockTest {

    private static final Duration LONG = Duration.ofMinutes(2);

    @Test
    void theCodeOfThePageRuns(@TempDir Path directory) throws Exception {
        List<String> blocks = JavaSources.blocksOf("choose/choosing-a-lock.md");
        assertThat(blocks).hasSize(7);
        NewApplication application = new NewApplication(directory, "example.Shop")
                .source("Shop", SHOP)
                .source("Page", PAGE.formatted(methods(blocks)))
                .source("Work", WORK)
                .resource("application.properties", "spring.datasource.url=jdbc:h2:mem:choosing\n")
                .compile();
        try (JavaProcess shop = application.process().start()) {
            assertThat(shop.waitFor(LONG)).isZero();
            assertThat(shop.lines())
                    .filteredOn(line -> line.startsWith("done: "))
                    .containsExactly(
                            "done: sellOne lamp",
                            "done: load prices.csv",
                            "done: sellOne chair",
                            "done: save desk at 7",
                            "done: replace",
                            "done: export",
                            "done: write",
                            "done: lead with a token: true",
                            "done: lead with a token: true");
        }
    }

    private static String methods(List<String> blocks) {
        return IntStream.range(0, blocks.size())
                .mapToObj(number -> methods(number, blocks.get(number)))
                .collect(Collectors.joining("\n\n"));
    }

    /** A block that begins with an annotation has methods. Any other one is what a method does. */
    private static String methods(int number, String block) {
        return block.startsWith("@") ? block : "public void run%d() throws Exception {\n%s\n}".formatted(number, block);
    }

    private static final String PAGE = """
            package example;

            import io.github.holdfast.annotation.Locked;
            import io.github.holdfast.election.*;
            import io.github.holdfast.lock.*;
            import io.github.holdfast.semaphore.*;
            import io.github.holdfast.service.LockService;
            import io.github.holdfast.task.*;
            import java.time.Duration;
            import java.util.List;
            import org.springframework.stereotype.Service;
            import org.springframework.transaction.annotation.Transactional;

            @Service
            public class Page extends Work {

                private final LockService locks;

                Page(LockService locks) {
                    this.locks = locks;
                }

                %s
            }
            """;

    private static final String WORK = """
            package example;

            import java.util.List;
            import org.slf4j.Logger;
            import org.slf4j.LoggerFactory;

            class Work {

                final Logger log = LoggerFactory.getLogger(Work.class);
                final Bean stock = new Bean();
                final Bean items = new Bean();
                final Bean importer = new Bean();
                final Bean orders = new Bean();
                final Bean prices = new Bean();
                final Bean report = new Bean();
                final List<String> files = List.of("prices.csv");
                private int steps;

                record PurchaseOrder(String item, int price) {}

                boolean isRunning() {
                    return steps < 2;
                }

                void lead(long fencingToken) {
                    steps++;
                    System.out.println("done: lead with a token: " + (fencingToken > 0));
                }

                static class Bean {

                    private void done(String what) {
                        System.out.println("done: " + what);
                    }

                    void sellOne(String item) {
                        done("sellOne " + item);
                    }

                    void load(String file) {
                        done("load " + file);
                    }

                    int of(String item) {
                        return 7;
                    }

                    void save(PurchaseOrder order) {
                        done("save " + order.item() + " at " + order.price());
                    }

                    void replace() {
                        done("replace");
                    }

                    void export() {
                        done("export");
                    }

                    void write() {
                        done("write");
                    }
                }
            }
            """;

    private static final String SHOP = """
            package example;

            import org.springframework.boot.SpringApplication;
            import org.springframework.boot.autoconfigure.SpringBootApplication;
            import org.springframework.context.ConfigurableApplicationContext;

            @SpringBootApplication
            public class Shop {

                public static void main(String[] args) throws Exception {
                    try (ConfigurableApplicationContext context = SpringApplication.run(Shop.class, args)) {
                        Page page = context.getBean(Page.class);
                        page.run0();
                        page.run1();
                        page.sellOne("chair");
                        page.order("desk");
                        page.replacePrices();
                        page.run4();
                        page.run5();
                        page.run6();
                    }
                }
            }
            """;
}
