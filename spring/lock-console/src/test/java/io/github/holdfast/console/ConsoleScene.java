package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.springframework.jdbc.core.JdbcTemplate;

/** What there is to see: two nodes, one that was stopped and one that died, locks of all kinds, elections, semaphores, threads that wait, runs and a loss. All of it has happened. */
final class ConsoleScene implements AutoCloseable {

    static final String SCRIPT = "<script>document.title = 'harmed'</script>";
    static final String LONGEST_NAME = "import:" + "x".repeat(248);

    private static final Duration SOON = Duration.ofSeconds(60);

    private final LockService shop;
    private final LockService billing;
    private final List<LockHandle> held = new ArrayList<>();
    private final List<LeaderElection> elections = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final CountDownLatch end = new CountDownLatch(1);

    ConsoleScene(ConsoleApplication application) throws Exception {
        shop = application.locks();
        billing = service(application, "billing");
        hold(shop, LockRequest.of("order:1001"));
        hold(shop, LockRequest.of("order:1002"));
        hold(billing, LockRequest.of("invoice:2026-11"));
        hold(billing, LockRequest.of("export:customers").lease(Duration.ofMinutes(15)));
        hold(shop, LockRequest.of(SCRIPT));
        hold(shop, SemaphoreRequest.of("exports").limit(5).permits(2));
        hold(billing, SemaphoreRequest.of("exports").limit(5).lease(Duration.ofMinutes(15)));
        hold(shop, SemaphoreRequest.of("payment-gateway").limit(1));
        lead(shop, ElectionRequest.of("price-feed").candidate("10.0.0.7:8080"));
        lead(billing, ElectionRequest.of("settlement"));
        campaign(billing, ElectionRequest.of("price-feed").candidate("10.0.0.8:8080"));
        runTasks(application.bean(JdbcTemplate.class));
        waitFor("order:1001", "http-nio-8080-exec-3");
        waitFor("order:1001", "http-nio-8080-exec-7");
        waitFor("invoice:2026-11", "month-end");
        loseALock();
        try (LockService stopped = service(application, "reports")) {
            stopped.acquire(LockRequest.of("report:1")).release();
        }
        application
                .bean(JdbcTemplate.class)
                .update("insert into lock_node (id, description, started_at, expires_at, ended, version)"
                        + " select '00000000-dead', 'import:4711@batch-1', started_at, started_at, false, 0"
                        + " from lock_node where description like 'reports:%'");
    }

    private static LockService service(ConsoleApplication application, String name) {
        return LockService.builder(application.bean(EntityManagerFactory.class))
                .application(name)
                .withoutHousekeeping()
                .build();
    }

    LockHandle hold(LockService service, LockRequest request) throws InterruptedException {
        LockHandle lock = service.acquire(request);
        held.add(lock);
        return lock;
    }

    LockHandle hold(LockService service, SemaphoreRequest request) throws InterruptedException {
        LockHandle permits = service.semaphore(request).acquire();
        held.add(permits);
        return permits;
    }

    private LeaderElection campaign(LockService service, ElectionRequest request) {
        LeaderElection election = service.election(request);
        elections.add(election);
        election.start();
        return election;
    }

    LeaderElection lead(LockService service, ElectionRequest request) {
        LeaderElection election = campaign(service, request);
        await().atMost(SOON).until(election::isLeader);
        return election;
    }

    private void runTasks(JdbcTemplate database) {
        TaskRequest daily = TaskRequest.of("stock-count").every(Duration.ofDays(1));
        assertThat(shop.task(daily).runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED);
        assertThatThrownBy(() -> billing.task(TaskRequest.of("reminders").every(Duration.ofHours(1)))
                        .runIfDue(lock -> {
                            throw new IllegalStateException("mail server refused the connection");
                        }))
                .isInstanceOf(IllegalStateException.class);
        start(
                "scheduling-1",
                () -> shop.task(TaskRequest.of("nightly-report").every(Duration.ofDays(1)))
                        .runIfDue(lock -> end.await()));
        await().atMost(SOON).until(() -> shop.admin().lastRuns("", 10).size() == 3);
        recordEarlierRuns(database);
    }

    /** What an operator does on another node. */
    void force(String name, String reason) {
        billing.admin().forceRelease(name, reason);
    }

    /** Runs on the days before: 20 of them, two failed. */
    private static void recordEarlierRuns(JdbcTemplate database) {
        for (int day = 1; day <= 20; day++) {
            String ended = "begun_at, "
                    + (day % 9 == 4 ? "'FAILED', 'mail server refused the connection'" : "'SUCCEEDED', null");
            database.update("insert into lock_run (name, fencing_token, begun_at, ended_at, status, error)"
                    + " select name, " + (100 - day) + ", dateadd(day, -" + day + ", begun_at), dateadd(day, -" + day
                    + ", "
                    + ended.replaceFirst(",", "),")
                    + " from lock_run where name = 'reminders' and fencing_token > 1000");
        }
    }

    private void waitFor(String name, String thread) {
        int before = shop.admin().waiters().size();
        start(thread, () -> {
            LockRequest request = LockRequest.of(name).waitAtMost(Duration.ofMinutes(10));
            try (LockHandle unused = shop.acquire(request)) {
                end.await();
            } catch (LockNotAcquiredException refused) {
                throw new AssertionError(refused);
            }
        });
        await().atMost(SOON).until(() -> shop.admin().waiters().size() > before);
    }

    /** One with a lease: who has none is told by its node's next heartbeat only. */
    private void loseALock() throws InterruptedException {
        LockHandle lost = hold(shop, LockRequest.of("order:999").lease(Duration.ofMinutes(1)));
        billing.admin().forceRelease("order:999", "stuck");
        assertThatThrownBy(() -> lost.ensureValidFor(Duration.ofMinutes(1))).isInstanceOf(LockLostException.class);
    }

    private void start(String name, Interruptible work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } catch (InterruptedException stopped) {
                        Thread.currentThread().interrupt();
                    }
                },
                name);
        threads.add(thread);
        thread.start();
    }

    private interface Interruptible {
        void run() throws InterruptedException;
    }

    /** The threads end before the application does. */
    @Override
    public void close() throws InterruptedException {
        end.countDown();
        for (Thread thread : threads) {
            thread.interrupt();
            thread.join();
        }
        held.forEach(LockHandle::release);
        elections.forEach(LeaderElection::close);
        billing.close();
    }
}
