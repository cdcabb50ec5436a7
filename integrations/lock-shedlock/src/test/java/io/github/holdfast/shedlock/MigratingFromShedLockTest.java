package io.github.holdfast.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.sources.JavaSources;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the page on ShedLock, compiled and run in a new application. */
class MigratingFromShedLockTest {

    private static final Duration LONG = Duration.ofMinutes(2);
    private static final String CLASS_PATH = System.getProperty("java.class.path");

    @Test
    void theCodeOfThePageRuns(@TempDir Path directory) throws Exception {
        List<String> blocks = JavaSources.blocksOf("migrate/migrating-from-shedlock.md");
        assertThat(blocks).hasSize(6);
        Path classes = directory.resolve("classes");
        JavaSources.in(directory.resolve("sources"))
                .file("First", PROVIDER.formatted("First", blocks.get(0)))
                .file("KeepAlive", PROVIDER.formatted("KeepAlive", blocks.get(1)))
                .file("Former", FORMER)
                .file("Joint", PROVIDER.formatted("Joint", blocks.get(3)))
                .file("Report", REPORT)
                .file("ShedLocks", JOB.formatted("ShedLocks", "Scheduler", blocks.get(2)))
                .file("Own", JOB.formatted("Own", "Scheduled", blocks.get(4)))
                .file("Page", PAGE.formatted(blocks.get(5)))
                .compile(classes, CLASS_PATH);
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
                                .execute("create table shedlock (name varchar(64) primary key, lock_until timestamp(6),"
                                        + " locked_at timestamp(6), locked_by varchar(255))");
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
