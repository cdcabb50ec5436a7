package io.github.holdfast.shedlock;

import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/** Two applications with the starter and this module, and with ShedLock's own annotations: each period has one run. */
@Tag("process")
@ExtendWith(OutputCaptureExtension.class)
@OnEachDatabase({POSTGRESQL, MYSQL}) // Those whose clock is another process's.
class SchedulerLockTest {

    /** How long both are watched. */
    private static final int SECONDS = Integer.getInteger("holdfast.test.shedlock-seconds", 6);

    private static final int PERIOD_SECONDS = 2;
    private static final Duration AT_LEAST = ofSeconds(1);
    private static final Duration SOON = ofSeconds(60);

    /** Each application has twenty turns in a period; if one had fewer than these, the machine had no time for it. */
    private static final int AWAKE = 10;

    private static long now() {
        return System.currentTimeMillis() / 1000 / PERIOD_SECONDS;
    }

    /** What both applications have done. */
    static final class Watch {

        private final Queue<LockInfo> runs = new ConcurrentLinkedQueue<>();
        private final AtomicInteger inside = new AtomicInteger();
        private final AtomicInteger mostInside = new AtomicInteger();
        private final List<Map<Long, Integer>> awake = List.of(new ConcurrentHashMap<>(), new ConcurrentHashMap<>());

        void run(LockInfo lock) throws InterruptedException {
            mostInside.accumulateAndGet(inside.incrementAndGet(), Math::max);
            runs.add(lock);
            Thread.sleep(100); // The work.
            inside.decrementAndGet();
        }

        void awake(int application) {
            awake.get(application).merge(now(), 1, Integer::sum);
        }

        private boolean wereAwake(long period) {
            return awake.stream().allMatch(ofOne -> ofOne.getOrDefault(period, 0) >= AWAKE);
        }

        /** The periods in which both applications had time. */
        List<Long> awake(long from, long to) {
            return LongStream.range(from, to).filter(this::wereAwake).boxed().toList();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableScheduling
    @EnableSchedulerLock(defaultLockAtMostFor = "30s")
    @Import(Job.class)
    static class Application {}

    record ApplicationNumber(int number) {}

    static class Job {

        private final LockService locks;
        private final Watch watch;
        private final int number;

        Job(LockService locks, Watch watch, ApplicationNumber number) {
            this.locks = locks;
            this.watch = watch;
            this.number = number.number();
        }

        @Scheduled(cron = "*/2 * * * * *")
        @SchedulerLock(name = "job", lockAtLeastFor = "1s")
        void run() throws InterruptedException {
            LockAssert.assertLocked();
            watch.run(locks.find("job").orElseThrow());
        }

        @Scheduled(fixedRate = 100)
        void wake() {
            watch.awake(number);
        }
    }

    private static ConfigurableApplicationContext start(Database database, Watch watch, int number) {
        return new SpringApplicationBuilder(Application.class)
                .initializers((GenericApplicationContext context) -> {
                    context.registerBean(Watch.class, () -> watch);
                    context.registerBean(ApplicationNumber.class, () -> new ApplicationNumber(number));
                })
                .properties(Map.of(
                        "spring.datasource.url", database.url(),
                        "spring.datasource.username", database.user(),
                        "spring.datasource.password", database.password(),
                        "spring.datasource.hikari.maximum-pool-size", "5",
                        "spring.jpa.hibernate.ddl-auto", "none",
                        "spring.task.scheduling.pool.size", "2",
                        "logging.level.io.github.holdfast.annotation", "info",
                        "spring.main.banner-mode", "off"))
                .run();
    }

    @Test
    void eachPeriodHasOneRun(Database database, CapturedOutput output) {
        Watch watch = new Watch();
        long from;
        long to;
        try (ConfigurableApplicationContext one = start(database, watch, 0);
                ConfigurableApplicationContext other = start(database, watch, 1)) {
            assertThat(List.of(one, other))
                    .allSatisfy(application -> assertThat(application.getBean(HoldfastLockProvider.class))
                            .isNotNull());
            from = now() + 1;
            long atLeast = from + SECONDS / PERIOD_SECONDS;
            await().atMost(SOON.plusSeconds(SECONDS))
                    .pollInterval(ofMillis(50))
                    .until(() -> now() >= atLeast
                            && watch.awake(from, now()).size() > SECONDS / PERIOD_SECONDS / 3
                            && watch.inside.get() == 0);
            to = now();
        }
        check(database, watch, from, to);
        assertThat(output.getOut().lines().filter(line -> line.contains("because they have no lock")))
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).contains(": " + Job.class.getName() + ".wake. "));
    }

    private static void check(Database database, Watch watch, long from, long to) {
        assertThat(watch.mostInside).as("runs at once").hasValue(1);
        List<LockInfo> runs = new ArrayList<>(watch.runs);
        for (int next = 1; next < runs.size(); next++) {
            assertThat(runs.get(next).acquiredAt())
                    .as("%s after %s", runs.get(next), runs.get(next - 1))
                    .isAfterOrEqualTo(runs.get(next - 1).acquiredAt().plus(AT_LEAST));
        }
        Map<Long, Long> inPeriod = runs.stream()
                .collect(groupingBy(run -> run.acquiredAt().getEpochSecond() / PERIOD_SECONDS, counting()));
        List<Long> checked = watch.awake(from, to);
        System.out.println("SchedulerLock on " + database.kind() + ": " + runs.size() + " runs; of " + (to - from)
                + " periods " + checked.size() + " were checked");
        assertThat(checked).as("periods in which both applications had time").isNotEmpty();
        assertThat(checked)
                .allSatisfy(
                        period -> assertThat(inPeriod.getOrDefault(period, 0L)).isEqualTo(1));
    }
}
