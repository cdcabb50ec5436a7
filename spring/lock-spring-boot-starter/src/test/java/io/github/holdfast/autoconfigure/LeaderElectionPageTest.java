package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.sources.JavaSources;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the page on leader election, compiled and run in new applications: one without beans of elections, and one with them. */
class LeaderElectionPageTest {

    private static final Duration LONG = Duration.ofMinutes(2);

    @Test
    void theCodeOfThePageRuns(@TempDir Path directory) throws Exception {
        List<String> blocks = JavaSources.blocksOf("choose/leader-election.md");
        assertThat(blocks).hasSize(6);
        NewApplication application = new NewApplication(directory, "example.Shop")
                .source("Shop", SHOP)
                .source(
                        "Page",
                        PAGE.formatted(blocks.get(0), blocks.get(1), blocks.get(2), blocks.get(3), blocks.get(4)))
                .source("Beans", BEANS.formatted(blocks.get(5)))
                .source("Work", WORK)
                .resource("application.properties", "spring.datasource.url=jdbc:h2:mem:electing\n")
                .compile();
        try (JavaProcess shop = application.process().start()) {
            assertThat(shop.waitFor(LONG)).as(shop.lines().toString()).isZero();
            assertThat(shop.lines())
                    .filteredOn(line -> line.startsWith("done: "))
                    // The node leads a moment before its listeners know.
                    .containsExactlyInAnyOrder(
                            "done: beans: open in a term: true",
                            "done: beans: write",
                            "done: beans: close",
                            "done: page: open in a term: true",
                            "done: page: write",
                            "done: page: send in a term: true",
                            "done: page: step in a term: true",
                            "done: page: step in a term: true",
                            "done: page: save",
                            "done: page: close");
        }
    }

    private static final String PAGE = """
            package example;

            import io.github.holdfast.election.*;
            import io.github.holdfast.service.LockService;
            import java.time.Duration;
            import org.springframework.context.annotation.Profile;
            import org.springframework.stereotype.Service;
            import org.springframework.transaction.support.TransactionTemplate;

            @Service
            public class Page extends Work {

                private final LockService locks;
                private final TransactionTemplate transaction;

                Page(LockService locks, TransactionTemplate transaction) {
                    super("page");
                    this.locks = locks;
                    this.transaction = transaction;
                }

                void run() throws Exception {
                    %s
                    queue.opened.await();
                    %s
                    %s
                    %s
                    %s
                    election.close();
                }
            }
            """;

    private static final String BEANS = """
            package example;

            import io.github.holdfast.annotation.LeaderOnly;
            import io.github.holdfast.election.ElectionRequest;
            import io.github.holdfast.event.*;
            import org.springframework.context.annotation.*;
            import org.springframework.context.event.EventListener;
            import org.springframework.scheduling.annotation.*;

            @Profile("beans")
            @Configuration
            @EnableScheduling
            public class Beans extends Work {

                public Beans() {
                    super("beans");
                }

                %s
            }
            """;

    private static final String WORK = """
            package example;

            import java.util.concurrent.CountDownLatch;
            import java.util.concurrent.atomic.AtomicBoolean;

            public class Work {

                final String who;
                final Queue queue = new Queue();
                final Report report = new Report();
                final Mail mail = new Mail();
                final Steps steps = new Steps();

                Work(String who) {
                    this.who = who;
                }

                /** A proxy has the methods of the bean, but not its fields. */
                public void awaitReport() throws InterruptedException {
                    report.written.await();
                }

                void done(String what) {
                    System.out.println("done: " + who + ": " + what);
                }

                class Queue {
                    final CountDownLatch opened = new CountDownLatch(1);

                    void open(long term) {
                        done("open in a term: " + (term > 0));
                        opened.countDown();
                    }

                    void close() {
                        done("close");
                    }
                }

                class Report {
                    final CountDownLatch written = new CountDownLatch(1);
                    private final AtomicBoolean isWritten = new AtomicBoolean();

                    void write() {
                        if (!isWritten.getAndSet(true)) {
                            done("write");
                            written.countDown();
                        }
                    }

                    void save() {
                        done("save");
                    }
                }

                class Mail {
                    void send(long term) {
                        done("send in a term: " + (term > 0));
                    }
                }

                class Steps {
                    private int left = 2;

                    boolean hasNext() {
                        return left > 0;
                    }

                    void doNext(long term) {
                        left--;
                        done("step in a term: " + (term > 0));
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
                    try (ConfigurableApplicationContext context =
                            SpringApplication.run(Shop.class, "--spring.profiles.active=beans")) {
                        context.getBean(Beans.class).awaitReport();
                    }
                    try (ConfigurableApplicationContext context = SpringApplication.run(Shop.class)) {
                        context.getBean(Page.class).run();
                    }
                }
            }
            """;
}
