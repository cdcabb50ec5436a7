package io.github.holdfast.sharding;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.semaphore.Semaphore;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** The code and the properties of the page on several databases. */
@TestInstance(Lifecycle.PER_CLASS)
class ShardingPageTest {

    private final Nodes nodes = new Nodes();
    private Database first;
    private Database second;

    @BeforeAll
    void createDatabases() {
        first = nodes.database(TestDatabase.H2_MEMORY);
        second = nodes.database(TestDatabase.H2_MEMORY);
    }

    @AfterAll
    void close() throws Exception {
        nodes.close();
    }

    private static List<String> blocks(String language) throws Exception {
        return Pattern.compile("```" + language + "\n(.*?)\n```", Pattern.DOTALL)
                .matcher(Files.readString(ProjectDirectory.resolve("docs/scale-out/sharding.md")))
                .results()
                .map(block -> block.group(1))
                .toList();
    }

    @Test
    void theCodeOfThePageRuns(@TempDir Path directory) throws Exception {
        List<String> blocks = blocks("java");
        assertThat(blocks).hasSize(5);
        compile(PAGE.formatted(blocks.toArray()), directory);
        LockService one = nodes.open(first).locks();
        LockService two = nodes.open(second).locks();
        try (URLClassLoader loader = new URLClassLoader(
                new URL[] {directory.toUri().toURL()}, getClass().getClassLoader())) {
            Class<?> page = loader.loadClass("example.Page");
            ShardedLocks byPrefix = (ShardedLocks) call(page, "byPrefix", one, two);
            assertThat(byPrefix.serviceFor("archive:1")).isSameAs(two);
            assertThat(byPrefix.serviceFor("order:1")).isSameAs(one);
            ShardedLocks byHash = (ShardedLocks) call(page, "byHash", one, two);
            assertThat(byHash.serviceFor("stock:lamp")).isSameAs(two);
            Sharding own = (Sharding) call(page, "own");
            assertThat(own.shardOf("stock:lamp")).isEqualTo("second");
            assertThat(own.shardOf("task:lamp")).isEqualTo("first");
            Semaphore exports = (Semaphore) call(page, "exports", byPrefix);
            exports.acquire().close();
            ShardedLocks moving = (ShardedLocks) call(
                    page,
                    "moving",
                    Map.of("first", one, "second", two),
                    Sharding.byHash(List.of("first")),
                    Sharding.byHash(List.of("first", "second")));
            assertIsHeldOnBoth(moving, one, two);
        }
    }

    private static Object call(Class<?> page, String name, Object... arguments) throws Exception {
        return Arrays.stream(page.getMethods())
                .filter(method -> method.getName().equals(name))
                .findFirst()
                .orElseThrow()
                .invoke(null, arguments);
    }

    private static void compile(String code, Path directory) throws Exception {
        Path source = Files.writeString(directory.resolve("Page.java"), code);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
            List<String> options = List.of("-d", directory.toString(), "-proc:none", "-nowarn");
            assertThat(compiler.getTask(null, manager, null, options, null, manager.getJavaFileObjects(source))
                            .call())
                    .as("it compiles")
                    .isTrue();
        }
    }

    private static void assertIsHeldOnBoth(Locks locks, LockService one, LockService two) throws Exception {
        try (LockHandle held = locks.acquire(LockRequest.of("stock:lamp"))) {
            assertThat(held.remaining()).isPositive();
            assertThat(one.find("stock:lamp")).isPresent();
            assertThat(two.find("stock:lamp")).isPresent();
        }
    }

    @Test
    void thePropertiesOfThePageAreUnderstood() throws Exception {
        List<String> blocks = blocks("properties");
        assertThat(blocks).hasSize(3);
        application(blocks.get(0)).run(context -> {
            ShardedLocks locks = context.getBean(ShardedLocks.class);
            assertThat(locks.serviceFor("old:1")).isSameAs(context.getBean("archiveLocks"));
            assertThat(locks.serviceFor("order:1")).isSameAs(context.getBean("holdfastLockService"));
        });
        application(blocks.get(1))
                .run(context -> assertThat(context.getBean(ShardedLocks.class).serviceFor("stock:lamp"))
                        .isSameAs(context.getBean("archiveLocks")));
        application(blocks.get(2))
                .run(context -> assertIsHeldOnBoth(
                        context.getBean(Locks.class),
                        context.getBean("holdfastLockService", LockService.class),
                        context.getBean("archiveLocks", LockService.class)));
    }

    private ApplicationContextRunner application(String properties) {
        return new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(ShardingAutoConfiguration.class))
                .withPropertyValues(properties.split("\n"))
                .withBean(
                        "holdfastLockService",
                        LockService.class,
                        () -> nodes.open(first).locks())
                .withBean(
                        "archiveLocks",
                        LockService.class,
                        () -> nodes.open(second).locks());
    }

    private static final String PAGE = """
            package example;

            import io.github.holdfast.lock.*;
            import io.github.holdfast.sharding.*;
            import io.github.holdfast.semaphore.*;
            import io.github.holdfast.service.LockService;
            import java.time.Instant;
            import java.util.List;
            import java.util.Map;

            public class Page {

                public static Locks byPrefix(LockService orderLocks, LockService archiveLocks) {
                    %s
                    return locks;
                }

                public static Locks byHash(LockService firstLocks, LockService secondLocks) {
                    %s
                    return locks;
                }

                public static Sharding own() {
                    %s
                    return sharding;
                }

                public static Semaphore exports(ShardedLocks locks) {
                    %s
                    return exports;
                }

                public static Locks moving(Map<String, LockService> shards, Sharding oldRule, Sharding newRule) {
                    %s
                    return locks;
                }
            }
            """;
}
