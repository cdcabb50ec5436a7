package io.github.holdfast.annotation;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.concurrent.SimpleAsyncTaskScheduler;

/**
 * A process in which a task is scheduled: on virtual threads if its JVM has them. Tells each run that begins ({@code running}), and
 * the seconds of the database's clock in which its scheduler was at work ({@code awake}). Told to {@code hang}, it never ends its next
 * run.
 */
final class ScheduledLockProcess {

    private static final AtomicBoolean IS_TO_HANG = new AtomicBoolean();

    private ScheduledLockProcess() {}

    static JavaProcess start(Path javaHome, Database database, Duration nodeLease, String secondsQuery, Duration rate) {
        return JavaProcess.of(ScheduledLockProcess.class)
                .javaHome(javaHome)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .args(
                        database.url(),
                        database.user(),
                        database.password(),
                        nodeLease.toString(),
                        secondsQuery,
                        rate.toString())
                .start();
    }

    /** Arguments: URL, user, password, the node's lease, what to ask the database for the seconds since 1970, how often the task is called. */
    public static void main(String[] args) throws Exception {
        JavaProcess.commands(hang -> IS_TO_HANG.set(true));
        AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext();
        application
                .getEnvironment()
                .getPropertySources()
                .addFirst(new MapPropertySource(
                        "arguments",
                        Map.of(
                                "url", args[0],
                                "user", args[1],
                                "password", args[2],
                                "node.lease", args[3],
                                "seconds", args[4],
                                "rate", args[5])));
        application.register(Scheduling.class);
        application.registerShutdownHook();
        application.refresh();
        Thread.currentThread().join();
    }

    @Configuration(proxyBeanMethods = false)
    @EnableScheduling
    @Import({ScheduledLockSupport.class, Job.class})
    static class Scheduling {

        @Bean
        TaskScheduler taskScheduler() {
            SimpleAsyncTaskScheduler scheduler = new SimpleAsyncTaskScheduler();
            scheduler.setVirtualThreads(Runtime.version().feature() >= 21);
            return scheduler;
        }
    }

    static class Job {

        private static final long WORK_MILLIS = 300;

        private final JdbcTemplate jdbc;
        private final String seconds;

        Job(JdbcTemplate jdbc, Environment environment) {
            this.jdbc = jdbc;
            this.seconds = environment.getRequiredProperty("seconds");
        }

        @Scheduled(fixedRateString = "${rate}")
        @ScheduledLock(name = "job", every = "1s")
        void run() throws InterruptedException {
            boolean isToHang = IS_TO_HANG.get();
            System.out.println(isToHang ? "hanging" : "running");
            Thread.sleep(isToHang ? Long.MAX_VALUE : WORK_MILLIS);
        }

        @Scheduled(fixedRate = 100)
        void wake() {
            System.out.println("awake " + jdbc.queryForObject(seconds, String.class));
        }
    }
}
