package io.github.holdfast.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.JavaProcess;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the page on ShedLock, compiled and run in a new application. */
class MigratingFromShedLockTest {

    private static final Duration LONG = Duration.ofMinutes(2);
    private static final String CLASS_PATH = System.getProperty("java.class.path");

    @Test
    void theCodeOfThePageRuns(@TempDir Path directory) throws Exception {
        List<String> blocks = Pattern.compile("```java\n(.*?)\n```", Pattern.DOTALL)
                .matcher(Files.readString(Path.of("..", "docs", "migrating-from-shedlock.md")))
                .results()
                .map(block -> block.group(1))
                .toList();
        assertThat(blocks).hasSize(6);
        Path classes = Files.createDirectories(directory.resolve("classes"));
        compile(
                directory,
                classes,
                Map.of(
                        "First", PROVIDER.formatted("First", blocks.get(0)),
                        "KeepAlive", PROVIDER.formatted("KeepAlive", blocks.get(1)),
                        "Former", FORMER,
                        "Joint", PROVIDER.formatted("Joint", blocks.get(3)),
                        "Report", REPORT,
                        "ShedLocks", JOB.formatted("ShedLocks", "Scheduler", blocks.get(2)),
                        "Own", JOB.formatted("Own", "Scheduled", blocks.get(4)),
                        "Page", PAGE.formatted(blocks.get(5))));
        try (JavaProcess page = process(classes)) {
            assertThat(page.waitFor(LONG)).as("%s", page.lines()).isZero();
            assertThat(page.lines())
                    .filteredOn(line -> line.startsWith("done: "))
                    .containsExactly(
                            "done: report with a bean of lock-shedlock",
                            "done: report with First",
                            "done: report with KeepAlive",
                            "done: report with Joint",
                            "done: refused by Former after Joint",
                            "done: report with Own",
                            "done: refused by ShedLocks after Own",
                            "done: report without annotations",
                            "done: SUCCEEDED");
        }
    }

    private static void compile(Path directory, Path classes, Map<String, String> sources) throws IOException {
        List<Path> files = new ArrayList<>();
        for (Map.Entry<String, String> source : sources.entrySet()) {
            files.add(Files.writeString(directory.resolve(source.getKey() + ".java"), source.getValue()));
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
            List<String> options =
                    List.of("-d", classes.toString(), "-cp", CLASS_PATH, "-parameters", "-proc:none", "-nowarn");
            assertThat(compiler.getTask(null, manager, null, options, null, manager.getJavaFileObjectsFromPaths(files))
                            .call())
                    .as("it compiles")
                    .isTrue();
        }
    }

    private static JavaProcess process(Path classes) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(
                new URL[] {classes.toUri().toURL()}, MigratingFromShedLockTest.class.getClassLoader())) {
            return JavaProcess.of(loader.loadClass("example.Page"))
                    .jvmArgs("-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classes + ":" + CLASS_PATH)
                    .start();
        }
    }

    private static final String IMPORTS = """
            package example;

            import io.github.holdfast.annotation.ScheduledLock;
            import io.github.holdfast.service.LockService;
            import io.github.holdfast.shedlock.HoldfastLockProvider;
            import io.github.holdfast.task.*;
            import java.time.Duration;
            import java.util.List;
            import javax.sql.DataSource;
            import net.javacrumbs.shedlock.core.LockProvider;
            import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
            import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
            import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
            import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
            import org.springframework.boot.builder.SpringApplicationBuilder;
            import org.springframework.context.ConfigurableApplicationContext;
            import org.springframework.context.annotation.*;
            import org.springframework.jdbc.core.JdbcTemplate;
            import org.springframework.scheduling.annotation.Scheduled;
            """;

    private static final String PROVIDER = IMPORTS + """

            @Configuration
            class %s {

                %s
            }
            """;

    private static final String FORMER = IMPORTS + """

            @Configuration
            class Former {

                @Bean
                LockProvider lockProvider(DataSource dataSource) {
                    return new JdbcTemplateLockProvider(dataSource);
                }
            }
            """;

    private static final String REPORT = IMPORTS + """

            class Report {

                static String how = "";
                private static int written;

                void write() {
                    written++;
                    System.out.println("done: report " + how);
                }

                static int written() {
                    return written;
                }
            }
            """;

    private static final String JOB = IMPORTS + """

            class %s {

                final Report report = new Report();

                // With %sLock.
                %s
            }
            """;

    private static final String PAGE = IMPORTS + """

            @Configuration
            @EnableAutoConfiguration
            @EnableSchedulerLock(defaultLockAtMostFor = "30s")
            public class Page {

                private static int databases;

                public static void main(String[] args) throws Exception {
                    try (ConfigurableApplicationContext context = start(ShedLocks.class)) {
                        run("with a bean of lock-shedlock", context);
                        context.getBean(ShedLocks.class).writeReport();
                    }
                    for (Class<?> provider : List.of(First.class, KeepAlive.class)) {
                        databases++;
                        try (ConfigurableApplicationContext context = start(ShedLocks.class, provider)) {
                            run("with " + provider.getSimpleName(), context);
                            context.getBean(ShedLocks.class).writeReport();
                        }
                    }
                    databases++;
                    try (ConfigurableApplicationContext context = start(ShedLocks.class, Joint.class)) {
                        context.getBean(JdbcTemplate.class)
                                .execute("create table shedlock (name varchar(64) primary key, lock_until timestamp(3),"
                                        + " locked_at timestamp(3), locked_by varchar(255))");
                        run("with Joint", context);
                        try (ConfigurableApplicationContext former = start(ShedLocks.class, Former.class)) {
                            refuse("by Former after Joint", former);
                        }
                    }
                    databases++;
                    try (ConfigurableApplicationContext context = start(ShedLocks.class, Own.class)) {
                        Report.how = "with Own";
                        context.getBean(Own.class).writeReport();
                        refuse("by ShedLocks after Own", context);
                    }
                    databases++;
                    try (ConfigurableApplicationContext context = start()) {
                        Report.how = "without annotations";
                        new Page().task(context.getBean(LockService.class), new Report());
                    }
                }

                private void task(LockService locks, Report report) {
                    %s
                    System.out.println("done: " + outcome);
                }

                private static void run(String how, ConfigurableApplicationContext context) {
                    Report.how = how;
                    context.getBean(ShedLocks.class).writeReport();
                }

                private static void refuse(String what, ConfigurableApplicationContext context) {
                    int before = Report.written();
                    context.getBean(ShedLocks.class).writeReport();
                    if (Report.written() == before) {
                        System.out.println("done: refused " + what);
                    }
                }

                private static ConfigurableApplicationContext start(Class<?>... classes) {
                    return new SpringApplicationBuilder(Page.class)
                            .sources(classes)
                            .properties("spring.datasource.url=jdbc:h2:mem:page" + databases + ";DB_CLOSE_DELAY=-1")
                            .run();
                }
            }
            """;
}
