package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockRun;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.RunInfo;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** What {@link ScheduledLock} does with a bean, and which beans it refuses. */
@OnDatabase(TestDatabase.H2_MEMORY)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ScheduledLockTest {

    private AnnotationConfigApplicationContext application;
    private Jobs jobs;
    private LockService locks;

    @BeforeAll
    void start(Database database) {
        application = new AnnotationConfigApplicationContext();
        application
                .getEnvironment()
                .getPropertySources()
                .addFirst(new MapPropertySource(
                        "test",
                        Map.of(
                                "url", database.url(),
                                "user", database.user(),
                                "password", database.password(),
                                "jobs.period", "365d",
                                "jobs.name", "named by a property")));
        application.register(Scheduling.class, ScheduledLockSupport.class, Jobs.class);
        application.refresh();
        jobs = application.getBean(Jobs.class);
        locks = application.getBean(LockService.class);
    }

    @AfterAll
    void stop() {
        application.close();
    }

    @Test
    void aBeanThatIsCreatedAgainHasThePropertiesOfThatTime() {
        Map<String, Object> properties = new HashMap<>(Map.of("period", "365d"));
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("changing", properties));
            context.register(ScheduledLockConfiguration.class);
            context.registerBean(
                    "placeholders", ScheduledLockSupport.placeholders().getClass());
            context.registerBean(LockService.class, () -> locks, definition -> definition.setDestroyMethodName(""));
            context.registerBean(Refreshed.class, definition -> definition.setScope("prototype"));
            context.refresh();

            assertThat(context.getBean(Refreshed.class).run()).isEqualTo(1);
            assertThat(context.getBean(Refreshed.class).run()).isNull();
            properties.put("period", "1s");
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> context.getBean(Refreshed.class).run() != null);
        }
    }

    static class Refreshed {
        @Nullable
        @ScheduledLock(name = "refreshed", every = "${period}")
        public Integer run() {
            return 1;
        }
    }

    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    @ScheduledLock(name = "meta", every = "PT8760H")
    @interface Yearly {}

    @Configuration(proxyBeanMethods = false)
    @EnableAsync
    @EnableScheduling
    static class Scheduling {}

    /** Each method tells what it saw. */
    static class Jobs {

        private final JdbcTemplate jdbc;
        private final AtomicInteger runs = new AtomicInteger();
        private final AtomicInteger scheduledRuns = new AtomicInteger();
        private final AtomicInteger ticks = new AtomicInteger();

        Jobs(JdbcTemplate jdbc) {
            this.jdbc = jdbc;
        }

        @ScheduledLock(name = "${jobs.name}", every = "${jobs.period}", atMostFor = "10m", atLeastFor = "PT0.001S")
        public Integer once() {
            return runs.incrementAndGet();
        }

        /** On a connection outside the transaction, the run is there already: it was committed before the transaction began. */
        @Transactional
        @ScheduledLock(name = "transactional", every = "365d")
        public String transactional() {
            assertThat(TransactionSynchronizationManager.isActualTransactionActive())
                    .isTrue();
            jdbc.update("update lock_node set description = 'written' where ended = false");
            return statusSeenByOthers("transactional");
        }

        private String statusSeenByOthers(String name) {
            return CompletableFuture.supplyAsync(
                            () -> jdbc.queryForObject("select status from lock_run where name = ?", String.class, name))
                    .join();
        }

        @Transactional
        @ScheduledLock(name = "failing", every = "365d", retryFailed = true)
        public void failing() throws NoSuchMethodException {
            if (runs.incrementAndGet() > 0) {
                throw new NoSuchMethodException("checked");
            }
        }

        @ScheduledLock(name = "optional", atLeastFor = "365d")
        public Optional<Integer> optional() {
            return Optional.of(1);
        }

        @ScheduledLock(name = "optional long", atLeastFor = "365d")
        public OptionalLong optionalLong() {
            return OptionalLong.of(1);
        }

        @ScheduledLock(name = "work for later", every = "365d")
        public Object workForLater() {
            return (Runnable) () -> {};
        }

        @Async
        @ScheduledLock(name = "async", every = "365d")
        void async(CountDownLatch begun, CountDownLatch end) throws InterruptedException {
            begun.countDown();
            end.await();
        }

        @Scheduled(fixedRate = 20)
        @ScheduledLock(name = "scheduled", every = "365d")
        void scheduled() {
            scheduledRuns.incrementAndGet();
        }

        @Scheduled(fixedRate = 20)
        void tick() {
            ticks.incrementAndGet();
        }

        int ticks() {
            return ticks.get();
        }

        int scheduledRuns() {
            return scheduledRuns.get();
        }

        @Yearly
        String meta() {
            return "meta";
        }

        String plain() {
            return "plain";
        }
    }

    private List<RunInfo> runs(String name) {
        return locks.admin().runs(name, Long.MAX_VALUE, 10);
    }

    @Test
    void aMethodRunsOnceInItsPeriodAndReturnsNothingOtherwise() {
        assertThat(jobs.once()).isNotNull();
        assertThat(jobs.once()).isNull();
        assertThat(jobs.optional()).contains(1);
        assertThat(jobs.optional()).isEmpty();
        assertThat(jobs.optionalLong()).hasValue(1);
        assertThat(jobs.optionalLong()).isEmpty();
        assertThat(jobs.meta()).isEqualTo("meta");
        assertThat(jobs.meta()).isNull();
        assertThat(jobs.plain()).isEqualTo("plain");
        assertThat(runs("named by a property")).singleElement().satisfies(run -> {
            assertThat(run.status()).isEqualTo(LockRun.Status.SUCCEEDED);
            assertThat(run.nodeId()).as("it has a lease").isNull();
        });
    }

    /** One thread calls both in turn: when one was called ten times, so was the other. */
    @Test
    void theSchedulerCallsTheProxy() {
        await().atMost(Duration.ofSeconds(60)).until(() -> jobs.ticks() > 10);
        assertThat(jobs.scheduledRuns()).isEqualTo(1);
        assertThat(runs("scheduled")).extracting(RunInfo::status).containsExactly(LockRun.Status.SUCCEEDED);
    }

    @Test
    void theLockIsHeldWhileAnAsynchronousMethodRunsNotWhileItIsHandedOver() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        jobs.async(begun, end);
        begun.await();
        assertThat(runs("async")).extracting(RunInfo::status).containsExactly(LockRun.Status.RUNNING);
        end.countDown();
        await().atMost(Duration.ofSeconds(60)).until(() -> runs("async").get(0).status() == LockRun.Status.SUCCEEDED);
    }

    @Test
    void aRunThatReturnsWorkForLaterHasFailed() {
        assertThatThrownBy(jobs::workForLater)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Jobs.workForLater()")
                .hasMessageContaining("when nothing is held any more");
        assertThat(runs("work for later")).extracting(RunInfo::status).containsExactly(LockRun.Status.FAILED);
    }

    @Test
    void theLockIsTakenBeforeTheTransactionBeginsAndGivenBackAfterItsCommit() {
        assertThat(jobs.transactional()).isEqualTo("RUNNING");
        assertThat(runs("transactional"))
                .singleElement()
                .extracting(RunInfo::status)
                .isEqualTo(LockRun.Status.SUCCEEDED);
        assertThat(locks.find("transactional")).isEmpty();
        assertThat(application
                        .getBean(JdbcTemplate.class)
                        .queryForObject("select count(*) from lock_node where description = 'written'", Long.class))
                .isEqualTo(1);
    }

    @Test
    void whatTheMethodThrowsReachesTheCallerAndIsWrittenDown() {
        for (int run = 1; run <= 2; run++) {
            assertThatThrownBy(jobs::failing)
                    .isInstanceOf(NoSuchMethodException.class)
                    .hasMessage("checked");
            assertThat(runs("failing")).hasSize(run).allSatisfy(failed -> {
                assertThat(failed.status()).isEqualTo(LockRun.Status.FAILED);
                assertThat(failed.error()).isEqualTo("java.lang.NoSuchMethodException: checked");
            });
        }
    }

    // What is refused

    static class NotADuration {
        @ScheduledLock(name = "job", every = "ten minutes")
        void run() {}
    }

    static class OutOfRange {
        @ScheduledLock(name = "job", every = "1d", atMostFor = "400d")
        void run() {}
    }

    static class Unresolved {
        @ScheduledLock(name = "${no.such.name}", every = "1d")
        void run() {}
    }

    static class BadName {
        @ScheduledLock(name = " job ", every = "1d")
        void run() {}
    }

    static class EveryNodeInTurn {
        @ScheduledLock(name = "job", atMostFor = "10m")
        void run() {}
    }

    static class Primitive {
        @ScheduledLock(name = "job", every = "1d")
        int run() {
            return 1;
        }
    }

    static class DoneLater {
        @ScheduledLock(name = "job", every = "1d")
        CompletableFuture<Void> run() {
            return new CompletableFuture<>();
        }
    }

    static class DoneByTheCaller {
        @ScheduledLock(name = "job", every = "1d")
        List<Runnable> run() {
            return List.of();
        }
    }

    static class Expression {
        @ScheduledLock(name = "job:{#root.method.name}", every = "1d")
        void run() {}
    }

    static class OneName {
        @ScheduledLock(name = "job", every = "1d")
        void run() {}

        @ScheduledLock(name = "${jobs.same:job}", every = "2d")
        void other() {}
    }

    static class Final {
        @ScheduledLock(name = "job", every = "1d")
        final void run() {}
    }

    static class Private {
        @SuppressWarnings("UnusedMethod")
        @ScheduledLock(name = "job", every = "1d")
        private void run() {}
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                NotADuration.class,
                OutOfRange.class,
                Unresolved.class,
                BadName.class,
                EveryNodeInTurn.class,
                Primitive.class,
                DoneLater.class,
                DoneByTheCaller.class,
                Expression.class,
                OneName.class,
                Final.class,
                Private.class
            })
    void whatCannotBeFollowedIsRefusedAtTheStartWithBeanAndMethod(Class<?> refused) {
        String problem = Map.<Class<?>, String>ofEntries(
                        Map.entry(NotADuration.class, "every = \"ten minutes\" is not a duration"),
                        Map.entry(OutOfRange.class, "atMostFor: "),
                        Map.entry(Unresolved.class, "no.such.name"),
                        Map.entry(BadName.class, "white space"),
                        Map.entry(EveryNodeInTurn.class, "atLeastFor"),
                        Map.entry(Primitive.class, "int"),
                        Map.entry(DoneLater.class, "CompletableFuture"),
                        Map.entry(DoneByTheCaller.class, "its result (Runnable) may end later"),
                        Map.entry(Expression.class, "has no expressions"),
                        Map.entry(OneName.class, "has the name 'job' too"),
                        Map.entry(Final.class, "final"),
                        Map.entry(Private.class, "private"))
                .get(refused);
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.register(ScheduledLockConfiguration.class);
            context.registerBean(
                    "placeholders", ScheduledLockSupport.placeholders().getClass());
            context.registerBean("theJob", refused);

            assertThatThrownBy(context::refresh)
                    .isInstanceOf(BeanCreationException.class)
                    .hasMessageContaining("theJob")
                    .hasMessageContaining(refused.getSimpleName() + ".run()")
                    .hasMessageContaining(problem);
        }
    }

    /** Then Spring leaves it as it is. */
    @Test
    void aPropertyThatIsNotSetIsRefusedWithoutAConfigurerToo() {
        assertThatThrownBy(() -> start(Unresolved.class))
                .isInstanceOf(BeanCreationException.class)
                .hasMessageContaining("name = \"${no.such.name}\" names a property that is not set");
    }

    @Test
    void aResultThatOnlyTheBeansClassDeterminesIsRefused() {
        assertThatThrownBy(() -> start(Determined.class))
                .isInstanceOf(BeanCreationException.class)
                .hasMessageContaining("its result (Runnable) may end later");
    }

    private static void start(Class<?> refused) {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.register(ScheduledLockConfiguration.class, refused);
            context.refresh();
        }
    }

    abstract static class Undetermined<T> {
        @ScheduledLock(name = "job", every = "1d")
        public @Nullable T run() {
            return null;
        }
    }

    static class Determined extends Undetermined<Runnable> {}

    @Test
    void twoBeansOfOneClassAreTheSameTask() {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.register(ScheduledLockConfiguration.class);
            context.registerBean(LockService.class, () -> locks, definition -> definition.setDestroyMethodName(""));
            context.registerBean("one", Valid.class);
            context.registerBean("another", Valid.class);
            context.refresh();
            assertThat(context.getBeansOfType(Valid.class)).hasSize(2);
        }
    }

    @Test
    void twoClassesThatInheritATaskAreRefused() {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.register(ScheduledLockConfiguration.class);
            context.registerBean("one", Valid.class);
            context.registerBean("another", Inheriting.class);

            assertThatThrownBy(context::refresh)
                    .isInstanceOf(BeanCreationException.class)
                    .hasMessageContaining("has the name 'job' too");
        }
    }

    static class Inheriting extends Valid {}

    @Test
    void withoutALockServiceTheApplicationDoesNotStart() {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.register(ScheduledLockConfiguration.class);
            context.registerBean(Valid.class);

            assertThatThrownBy(context::refresh)
                    .isInstanceOf(LockAnnotationException.class)
                    .hasMessageContaining("There are @ScheduledLock methods, but no LockService");
        }
    }

    static class Valid {
        @ScheduledLock(name = "job", every = "1d")
        void run() {}
    }
}
