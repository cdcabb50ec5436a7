package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.sources.JavaSources;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcOperations;

/** The code of the pages for beginners, compiled and run in an application. */
class GettingStartedTest {

    @Test
    void theCodeOfThePageRuns(@TempDir Path directory) throws Exception {
        List<String> blocks = JavaSources.blocksOf("start/getting-started.md");
        assertThat(blocks).hasSize(5);
        Path classes = directory.resolve("classes");
        JavaSources.in(directory.resolve("sources"))
                .file("Stock", "package example;\n\n" + blocks.get(0))
                .file("Item", ITEM)
                .file("ItemRepository", REPOSITORY)
                .file("Shop", SHOP)
                .file("Exports", EXPORTS.formatted(blocks.get(4)))
                .file("Page", PAGE.formatted(blocks.get(1), blocks.get(2), blocks.get(3)))
                .compile(classes, System.getProperty("java.class.path"));

        try (URLClassLoader loader =
                        new URLClassLoader(new URL[] {classes.toUri().toURL()});
                ConfigurableApplicationContext context = Application.of(loader.loadClass("example.Shop"))
                        .in(loader)
                        .with("exports.limit=2", "spring.jpa.hibernate.ddl-auto=create-drop")
                        .run()) {
            assertThat(context.getBean("page", Callable.class).call())
                    .isEqualTo(List.of(
                            "2 left", "write", "SUCCEEDED", "write", "replacePrices", "of 7, limit 2", "export"));
        }
    }

    @Test
    void theFirstLockedMethodRuns(@TempDir Path directory) throws Exception {
        List<String> blocks = JavaSources.blocksOf("start/getting-started-in-ten-minutes.md");
        assertThat(blocks).hasSize(1);
        Path classes = directory.resolve("classes");
        JavaSources.in(directory.resolve("sources"))
                .file("Shop", blocks.get(0).replace("5_000", "1"))
                .file("DemoApplication", DEMO)
                .compile(classes, System.getProperty("java.class.path"));

        try (URLClassLoader loader =
                        new URLClassLoader(new URL[] {classes.toUri().toURL()});
                ConfigurableApplicationContext context = Application.of(
                                loader.loadClass("com.example.demo.DemoApplication"))
                        .in(loader)
                        .with("spring.jpa.hibernate.ddl-auto=none", "holdfast.schema.management=sql")
                        .without("spring.liquibase.change-log")
                        .with("spring.liquibase.enabled=false")
                        .run()) {
            Object shop = context.getBean("shop");
            Object answer = shop.getClass().getMethod("sell", String.class).invoke(shop, "lamp");

            assertThat(answer).isEqualTo("Sold one lamp\n");
            assertThat(context.getBean(JdbcOperations.class)
                            .queryForList("select name from distributed_lock where name like 'stock:%'", String.class))
                    .containsExactly("stock:lamp");
        }
    }

    private static final String DEMO = """
            package com.example.demo;

            import org.springframework.boot.autoconfigure.SpringBootApplication;

            @SpringBootApplication
            public class DemoApplication {}
            """;

    private static final String ITEM = """
            package example;

            import jakarta.persistence.Entity;
            import jakarta.persistence.Id;

            @Entity
            class Item {

                @Id
                String name = "lamp";
                int pieces = 3;
            }
            """;

    private static final String REPOSITORY = """
            package example;

            import org.springframework.data.jpa.repository.*;
            import org.springframework.transaction.annotation.Transactional;

            interface ItemRepository extends JpaRepository<Item, String> {

                @Modifying
                @Transactional
                @Query("update Item set pieces = pieces - 1 where name = ?1")
                void sellOne(String name);
            }
            """;

    private static final String SHOP = """
            package example;

            import org.springframework.boot.autoconfigure.SpringBootApplication;

            @SpringBootApplication
            public class Shop {}
            """;

    private static final String EXPORTS = """
            package example;

            import io.github.holdfast.annotation.Limited;
            import org.springframework.stereotype.Component;

            @Component
            public class Exports {

                private final Reports reports = new Reports();

                static class Reports {
                    Report of(long customer) {
                        return new Report(customer);
                    }
                }

                public record Report(long customer) {}

                %s
            }
            """;

    private static final String PAGE = """
            package example;

            import io.github.holdfast.lock.*;
            import io.github.holdfast.semaphore.*;
            import io.github.holdfast.service.*;
            import io.github.holdfast.task.*;
            import java.time.Duration;
            import java.util.ArrayList;
            import java.util.List;
            import java.util.concurrent.Callable;
            import org.springframework.stereotype.Component;

            @Component
            public class Page implements Callable<List<String>> {

                private final List<String> done = new ArrayList<>();
                private final Work report = new Work();
                private final Work importer = report;
                private final LockService locks;
                private final Stock stock;
                private final ItemRepository items;
                private final Exports reports;

                Page(LockService locks, Stock stock, ItemRepository items, Exports reports) {
                    this.locks = locks;
                    this.stock = stock;
                    this.items = items;
                    this.reports = reports;
                }

                private class Work {
                    void write() {
                        done.add("write");
                    }

                    void replacePrices() {
                        done.add("replacePrices");
                    }

                    void export() {
                        done.add("export");
                    }
                }

                @Override
                public List<String> call() throws Exception {
                    items.save(new Item());
                    stock.sellOne("lamp");
                    done.add(items.findById("lamp").orElseThrow().pieces + " left");
                    done.add(task().name());
                    readAndWrite();
                    done.add("of " + reports.export(7).customer() + ", limit "
                            + locks.admin().semaphores().page("", 10).get(0).limit());
                    export();
                    return done;
                }

                private TaskOutcome task() {
                    %s
                    return outcome;
                }

                private void readAndWrite() throws InterruptedException {
                    %s
                }

                private void export() throws InterruptedException {
                    %s
                }
            }
            """;
}
