package io.github.holdfast.annotation;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.process.JavaProcess;
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
 * A process in which a task is scheduled: on virtual threads if its JVM has them. Tells when each call of the task began and when it
 * ended, with or without a run, by the database's clock ({@code called}). Told to {@code hang}, it never ends its next run.
 */
final class ScheduledLockProcess {

    private static final AtomicBoolean IS_TO_HANG = new AtomicBoolean();

    private ScheduledLockProcess() {}

    static JavaProcess start(Path javaHome, Database database, Duration nodeLease, String nowQuery, Duration rate) {
        return JavaProcess.of(ScheduledLockProcess.class)
                .javaHome(javaHome)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .args(
                        database.url(),
                        database.user(),
                        database.password(),
                        nodeLease.toString(),
                        nowQuery,
                        rate.toString())
                .start();
    }

    /** Arguments: URL, user, password, the node's lease, what to ask the database for the microseconds since 1970, how often the task is called. */
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
                                "now", args[4],
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
        TaskScheduler taskScheduler(JdbcTemplate jdbc, Environment environment) {
            String now = environment.getRequiredProperty("now");
            SimpleAsyncTaskScheduler scheduler = new SimpleAsyncTaskScheduler();
            scheduler.setTaskDecorator(task -> () -> {
                String begun = jdbc.queryForObject(now, String.class);
                try {
                    task.run();
                } finally {
                    System.out.println("called " + begun + " " + jdbc.queryForObject(now, String.class));
                }
            });
            scheduler.setVirtualThreads(Runtime.version().feature() >= 21);
            return scheduler;
        }
    }

    static class Job {

        private static final long WORK_MILLIS = 300;

        @Scheduled(fixedRateString = "${rate}")
        @ScheduledLock(name = "job", every = "1s")
        void run() throws InterruptedException {
            boolean isToHang = IS_TO_HANG.get();
            if (isToHang) {
                System.out.println("hanging");
            }
            Thread.sleep(isToHang ? Long.MAX_VALUE : WORK_MILLIS);
        }
    }
}
