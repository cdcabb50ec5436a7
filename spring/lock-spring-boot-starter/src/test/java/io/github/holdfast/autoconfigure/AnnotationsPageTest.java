package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.annotation.LeaderOnly;
import io.github.holdfast.annotation.Limited;
import io.github.holdfast.annotation.Locked;
import io.github.holdfast.annotation.ScheduledLock;
import io.github.holdfast.test.sources.DocumentTable;
import io.github.holdfast.test.sources.JavaSources;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;

/** The page about the annotations: its tables have what the annotations have, and its code runs. */
class AnnotationsPageTest {

    private static final String PAGE = "start/annotations.md";

    @ParameterizedTest
    @ValueSource(classes = {Locked.class, Limited.class, ScheduledLock.class, LeaderOnly.class})
    void thePageHasEachAttributeAndNoOther(Class<?> annotation) throws Exception {
        Map<String, String> documented = new TreeMap<>();
        for (List<String> row : DocumentTable.below(PAGE, "`@" + annotation.getSimpleName() + "`")) {
            assertThat(row).hasSize(4).doesNotContain("");
            assertThat(documented.put(row.get(0), row.get(1).replace("duration", "text") + " = " + words(row.get(2))))
                    .as("another row for %s", row)
                    .isNull();
        }
        assertThat(documented).isEqualTo(attributes(annotation));
    }

    /** A default that says what happens if the text is empty, is not compared. */
    private static String words(String defaultValue) {
        return defaultValue.startsWith("`") || defaultValue.equals("required") ? defaultValue : "in words";
    }

    private static Map<String, String> attributes(Class<?> annotation) {
        return Arrays.stream(annotation.getDeclaredMethods())
                .collect(Collectors.toMap(
                        attribute -> "`" + attribute.getName() + "`",
                        attribute -> type(attribute.getReturnType()) + " = " + defaultValue(attribute),
                        (one, other) -> one,
                        TreeMap::new));
    }

    private static String type(Class<?> type) {
        Object @Nullable [] constants = type.getEnumConstants();
        if (constants != null) {
            return Arrays.stream(constants)
                    .map(constant -> "`" + constant + "`")
                    .collect(Collectors.joining(", "));
        }
        return type == String.class ? "text" : type == int.class ? "number" : type.getName();
    }

    private static String defaultValue(Method attribute) {
        Object value = attribute.getDefaultValue();
        if (value == null) {
            return "required";
        }
        return value.equals("") ? "in words" : "`" + value + "`";
    }

    @Test
    void theCodeOfThePageRuns(@TempDir Path directory) throws Exception {
        List<String> blocks = JavaSources.blocksOf(PAGE);
        assertThat(blocks).hasSize(5);
        Path classes = directory.resolve("classes");
        JavaSources.in(directory.resolve("sources"))
                .file("Orders", "package example;\n\n" + blocks.get(0))
                .file("Reports", "package example;\n\n" + blocks.get(1))
                .file("Housekeeper", "package example;\n\n" + blocks.get(2))
                .file("Busy", "package example;\n\n" + blocks.get(3))
                .file("TwoInstancesTest", "package example;\n\n" + blocks.get(4))
                .file("Shop", SHOP)
                .compile(classes, System.getProperty("java.class.path"));

        try (URLClassLoader loader =
                        new URLClassLoader(new URL[] {classes.toUri().toURL()});
                ConfigurableApplicationContext context = Application.of(loader.loadClass("example.Shop"))
                        .in(loader)
                        .run()) {
            assertThat(context.getBean("work", Callable.class).call())
                    .isEqualTo(List.of(
                            "Order 7 is on its way.",
                            "Somebody else is working on order 7.",
                            "Optional[Report of customer 5]",
                            "hourly-clean-up",
                            "nightly-report"));
            Files.writeString(classes.resolve("application.properties"), """
                    spring.main.banner-mode=off
                    spring.liquibase.enabled=false
                    spring.jpa.hibernate.ddl-auto=none
                    holdfast.schema.management=sql
                    """);
            runTestOfThePage(loader);
        }
    }

    private static void runTestOfThePage(ClassLoader loader) throws ReflectiveOperationException {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            Class<?> test = loader.loadClass("example.TwoInstancesTest");
            test.getMethod("onlyOneInstanceShipsAnOrder")
                    .invoke(test.getConstructor().newInstance());
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private static final String SHOP = """
            package example;

            import io.github.holdfast.lock.*;
            import io.github.holdfast.service.LockService;
            import java.util.ArrayList;
            import java.util.List;
            import java.util.concurrent.Callable;
            import org.springframework.boot.autoconfigure.SpringBootApplication;
            import org.springframework.context.ApplicationContext;
            import org.springframework.context.annotation.Bean;

            @SpringBootApplication
            public class Shop {

                @Bean
                Callable<List<String>> work(
                        LockService locks, Orders orders, Reports reports, Housekeeper housekeeper) {
                    return () -> {
                        List<String> done = new ArrayList<>();
                        done.add(orders.ship(7));
                        try (LockHandle held = locks.acquire(LockRequest.of("order:7")).detach()) {
                            done.add(orders.ship(7));
                        }
                        orders.transfer("b", "a", 1);
                        done.add(reports.of(5).toString());
                        housekeeper.cleanUp();
                        housekeeper.cleanUp();
                        housekeeper.report();
                        housekeeper.report();
                        locks.admin().lastRuns("", 10).forEach(run -> done.add(run.name()));
                        return done;
                    };
                }
            }
            """;
}
