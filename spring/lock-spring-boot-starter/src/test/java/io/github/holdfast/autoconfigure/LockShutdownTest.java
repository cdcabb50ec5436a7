package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.example.shop.Order;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.annotation.PreDestroy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/** What an application may still do with locks while it stops. */
@OnDatabase(TestDatabase.H2_MEMORY)
class LockShutdownTest {

    private static final Duration LONG = Duration.ofSeconds(60);

    /** The pool of the JVM may have one thread only. */
    private static final Executor THREADS = task -> new Thread(task).start();

    private static Application application(Database database, Class<?> configuration) {
        return Application.of(configuration)
                .with("spring.datasource.url=" + database.url())
                .with("holdfast.shutdown.grace-period=60s", "spring.lifecycle.timeout-per-shutdown-phase=60s");
    }

    @Test
    void locksOutliveTasksRequestsAndMessagesButNotBeans(Database database) throws Exception {
        ConfigurableApplicationContext context = application(database, Stopping.class)
                .with("spring.task.scheduling.shutdown.await-termination=true")
                .with("spring.task.scheduling.shutdown.await-termination-period=60s")
                .run();
        Task task = context.getBean(Task.class);
        Stopped requests = context.getBean("requests", Stopped.class);
        Stopped messages = context.getBean("messages", Stopped.class);
        Component component = context.getBean(Component.class);
        task.started.await();

        CompletableFuture<Void> closing = CompletableFuture.runAsync(context::close, THREADS);
        awaitRefusal(context.getBean(LockService.class));
        task.mayFinish.countDown();
        closing.join();

        assertThat(task.locked).isCompletedWithValue(true);
        assertThat(requests.locked).isCompletedWithValue(true);
        assertThat(messages.locked).isCompletedWithValue(true);
        assertThat(component.locked).isCompletedWithValue(false);
        assertThat(database.queryForLong("select count(*) from lock_node where not ended"))
                .isZero();
    }

    @Test
    void holdersOfTheApplicationsOwnThreadsMayFinish(Database database) throws Exception {
        ConfigurableApplicationContext context =
                application(database, Plain.class).run();
        LockService locks = context.getBean(LockService.class);
        LockHandle handle = locks.acquire(LockRequest.of("own thread"));

        CompletableFuture<Void> closing = CompletableFuture.runAsync(context::close, THREADS);
        await().atMost(LONG)
                .until(() -> CompletableFuture.supplyAsync(() -> !isLockable(locks), THREADS)
                        .get());

        assertThat(closing).isNotDone();
        assertThat(handle.state()).isEqualTo(LockState.HELD);
        handle.close();
        assertThat(closing).succeedsWithin(LONG);
        assertThat(handle.state()).isEqualTo(LockState.RELEASED);
    }

    @Test
    void aPausedContextGoesOnWithItsLocks(Database database) throws Exception {
        try (ConfigurableApplicationContext context =
                application(database, Plain.class).run()) {
            LockService locks = context.getBean(LockService.class);

            context.pause();
            context.restart();

            assertThat(isLockable(locks)).isTrue();
        }
    }

    @Test
    void aContextThatIsStoppedAndStartedHasItsLocksAgain(Database database) throws Exception {
        try (ConfigurableApplicationContext context =
                application(database, Leading.class).run()) {
            LockService locks = context.getBean(LockService.class);
            LeaderElection election = context.getBean(LeaderElection.class);
            for (int round = 0; round < 2; round++) {
                await().atMost(LONG).until(election::isLeader);

                context.stop();
                assertThat(isLockable(locks)).isFalse();
                assertThat(election.isLeader()).isFalse();

                context.start();
                assertThat(isLockable(locks)).isTrue();
            }
            await().atMost(LONG).until(election::isLeader);
        }
        assertThat(database.queryForLong("select count(*) from lock_node where not ended"))
                .isZero();
    }

    @Test
    void aLazyApplicationIsClosedGracefullyToo(Database database) throws Exception {
        ConfigurableApplicationContext context = application(database, Plain.class)
                .with("spring.main.lazy-initialization=true")
                .run();
        assertThat(context.getBeanFactory().containsSingleton("holdfastLockService"))
                .isFalse();
        LockService locks = context.getBean(LockService.class);
        LockHandle handle = locks.acquire(LockRequest.of("lazy"));

        CompletableFuture<Void> closing = CompletableFuture.runAsync(context::close, THREADS);
        awaitRefusal(locks);
        assertThat(handle.state()).isEqualTo(LockState.HELD);
        handle.close();

        assertThat(closing).succeedsWithin(LONG);
    }

    /** As a thread that holds nothing sees it. */
    private static void awaitRefusal(LockService locks) {
        await().atMost(LONG)
                .until(() -> CompletableFuture.supplyAsync(() -> !isLockable(locks), THREADS)
                        .get());
    }

    private static boolean isLockable(LockService locks) {
        try {
            locks.tryAcquire(LockRequest.of("another")).ifPresent(LockHandle::close);
            return true;
        } catch (IllegalStateException closed) {
            return false;
        }
    }

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class Plain {}

    @EnableAutoConfiguration
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class Leading {
        @Bean
        ElectionRequest election() {
            return ElectionRequest.of("leading");
        }
    }

    @EnableAutoConfiguration
    @EnableScheduling
    @AutoConfigurationPackage(basePackageClasses = Order.class)
    static class Stopping {
        @Bean
        Task task(LockService locks) {
            return new Task(locks);
        }

        /** Stops where the web server waits for its requests, the last of which needs a lock. */
        @Bean
        Stopped requests(LockService locks) {
            return new Stopped(locks, SmartLifecycle.DEFAULT_PHASE - 2048);
        }

        /** Stops where the endpoints of Spring Integration do, with a message under way. */
        @Bean
        Stopped messages(LockService locks) {
            return new Stopped(locks, SmartLifecycle.DEFAULT_PHASE / 2);
        }

        @Bean
        Component component(LockService locks) {
            return new Component(locks);
        }
    }

    /** Holds a lock when the application stops, and needs another one then. */
    static class Task {

        final CountDownLatch started = new CountDownLatch(1);
        final CountDownLatch mayFinish = new CountDownLatch(1);
        final CompletableFuture<Boolean> locked = new CompletableFuture<>();
        private final LockService locks;

        Task(LockService locks) {
            this.locks = locks;
        }

        @Scheduled(fixedDelay = 1_000_000)
        void work() throws InterruptedException {
            locks.run(LockRequest.of("task"), lock -> {
                started.countDown();
                mayFinish.await();
                locked.complete(isLockable(locks) && lock.state() == LockState.HELD);
            });
        }
    }

    /** Needs a lock while it stops, in its phase. */
    static class Stopped implements SmartLifecycle {

        final CompletableFuture<Boolean> locked = new CompletableFuture<>();
        private final LockService locks;
        private final int phase;
        private volatile boolean running;

        Stopped(LockService locks, int phase) {
            this.locks = locks;
            this.phase = phase;
        }

        @Override
        public void start() {
            running = true;
        }

        @Override
        public void stop() {
            locked.complete(isLockable(locks));
            running = false;
        }

        @Override
        public boolean isRunning() {
            return running;
        }

        @Override
        public int getPhase() {
            return phase;
        }
    }

    static class Component {

        final CompletableFuture<Boolean> locked = new CompletableFuture<>();
        private final LockService locks;

        Component(LockService locks) {
            this.locks = locks;
        }

        @PreDestroy
        void destroy() {
            locked.complete(isLockable(locks));
        }
    }
}
