package io.github.holdfast.service;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockFilter.State;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How operators find a lock among many, and what they learn of it. */
abstract class LockSearchContract {

    private static final Duration SOON = ofSeconds(60);
    private static final LockFilter ALL = LockFilter.all();

    private TestServices services;
    private LockService shop;
    private LockService billing;

    @BeforeEach
    void build() {
        services = services();
        services.tables().clear();
        shop = service("shop");
        billing = service("billing");
    }

    /** Opens the services of the leaf. */
    abstract TestServices services();

    private LockService service(String name) {
        return services.build(
                builder -> builder.application(name).withoutHousekeeping().withoutWakeUp());
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private void node(String id, boolean ended, Duration over) {
        Instant end = shop.admin().databaseClock().minus(over);
        services.tables()
                .insert(
                        "HoldfastNode",
                        Map.of(
                                "id",
                                id,
                                "startedAt",
                                end.minus(over),
                                "expiresAt",
                                end,
                                "ended",
                                ended,
                                "version",
                                7L));
    }

    private void held(String name, String column, Object value) {
        services.tables()
                .insert(
                        "HoldfastLock",
                        Map.of(
                                "name",
                                name,
                                "owner",
                                "somebody",
                                "holdCount",
                                1,
                                "acquiredAt",
                                shop.admin().databaseClock().minusSeconds(9),
                                "fencingToken",
                                1L,
                                "version",
                                1L,
                                "guardCount",
                                0L,
                                column,
                                value));
    }

    private List<String> found(LockFilter filter) {
        return shop.admin().held(filter, "", 100).stream()
                .map(LockInfo::name)
                .distinct()
                .toList();
    }

    @Test
    void locksAreFoundByTheBeginOfTheirNames() throws Exception {
        for (String name : List.of(
                "a%b", "a_b", "a!b", "aXb", "ab", "b", "A", "\uffe6", "a\uffe6", "\ud83d\ude00", "a\ud83d\ude00")) {
            shop.acquire(LockRequest.of(name));
        }
        assertThat(found(ALL.named("a%"))).containsExactly("a%b");
        assertThat(found(ALL.named("a_"))).containsExactly("a_b");
        assertThat(found(ALL.named("a!"))).containsExactly("a!b");
        assertThat(found(ALL.named("a")))
                .containsExactlyInAnyOrder("a%b", "a_b", "a!b", "aXb", "ab", "a\uffe6", "a\ud83d\ude00");
        assertThat(found(ALL.named("\uffe6"))).containsExactly("\uffe6");
        assertThat(found(ALL.named("\ud83d\ude00"))).containsExactly("\ud83d\ude00");
        assertThat(found(ALL.heldBy("shop"))).hasSize(11);
        List<LockInfo> page = shop.admin().held(ALL.named("a"), "", 2);
        assertThat(page).hasSize(2);
        assertThat(shop.admin().held(ALL.named("a"), page.get(1).name(), 100)).hasSize(5);
    }

    @Test
    void locksAreFoundByTheirHolders() throws Exception {
        LockHandle mine = shop.acquire(LockRequest.of("mine"));
        billing.acquire(LockRequest.of("leased").lease(ofMinutes(5)));
        shop.acquire(LockRequest.of("shared").shared().lease(ofMinutes(5)));
        billing.acquire(LockRequest.of("shared").shared().lease(ofMinutes(5)));
        LockInfo info = shop.find("mine").orElseThrow();
        assertThat(found(ALL.heldBy("SHOP:"))).containsExactly("mine", "shared");
        assertThat(found(ALL.heldBy("billing:"))).containsExactly("leased", "shared");
        assertThat(shop.admin().held(ALL.heldBy("billing:"), "", 10)).hasSize(3);
        assertThat(found(ALL.heldBy(String.valueOf(info.nodeId())))).containsExactly("mine");
        assertThat(found(ALL.heldBy("%"))).isEmpty();
        assertThat(found(ALL.heldBy("shop:").named("s"))).containsExactly("shared");
        mine.release();
        assertThat(found(ALL.heldBy("shop:"))).containsExactly("shared");
    }

    @Test
    void locksAreFoundByTheirState() throws Exception {
        shop.acquire(LockRequest.of("alone"));
        billing.acquire(LockRequest.of("shared").shared());
        node("late", false, ofSeconds(3));
        held("overdue", "nodeId", "late");
        node("gone", true, ofDays(1));
        held("freed", "nodeId", "gone");
        held("over", "expiresAt", shop.admin().databaseClock().minusSeconds(3));
        assertThat(found(ALL)).containsExactly("alone", "overdue", "shared");
        assertThat(found(ALL.in(State.ALONE))).containsExactly("alone", "overdue");
        assertThat(found(ALL.in(State.SHARED))).containsExactly("shared");
        assertThat(found(ALL.in(State.OVERDUE))).containsExactly("overdue");
        assertThat(found(ALL.in(State.WAITED_FOR))).isEmpty();
    }

    @Test
    void whoWaitsIsToldBehindTheHolder() throws Exception {
        Instant before = shop.admin().databaseClock();
        LockHandle held = shop.acquire(LockRequest.of("busy"));
        shop.acquire(LockRequest.of("calm"));
        assertThat(shop.admin().queues(10)).isEmpty();
        assertThat(shop.admin().queue("busy", 10)).isEmpty();
        Thread waiting = new Thread(() -> {
            try {
                billing.acquire(LockRequest.of("busy")).release();
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        });
        waiting.start();
        await().atMost(SOON).until(() -> !shop.admin().queues(10).isEmpty());
        QueueInfo queue = shop.admin().queues(10).get(0);
        assertThat(queue.name()).isEqualTo("busy");
        assertThat(queue.holder())
                .isNotNull()
                .extracting(LockInfo::fencingToken)
                .isEqualTo(held.fencingToken());
        assertThat(queue.waiters()).singleElement().satisfies(waiter -> {
            assertThat(waiter.node().description()).startsWith("billing:");
            assertThat(waiter.mode()).isEqualTo(LockMode.EXCLUSIVE);
            assertThat(waiter.since()).isBetween(before, shop.admin().databaseClock());
        });
        assertThat(shop.admin().queue("busy", 1))
                .hasValueSatisfying(same -> assertThat(same.waiters()).hasSize(1));
        assertThat(shop.admin().queue("calm", 10)).isEmpty();
        assertThat(found(ALL.in(State.WAITED_FOR))).containsExactly("busy");
        held.release();
        waiting.join();
    }

    @Test
    void theAuditLogTellsTheLatestActFirst() throws Exception {
        LockHandle first = shop.acquire(LockRequest.of("stuck").lease(ofMinutes(1)));
        billing.admin().forceRelease("stuck", "it hangs");
        billing.admin().semaphores().setPermits("stuck", 1, "no semaphore, no record");
        assertThat(shop.admin().audit("stuck", 10)).singleElement().satisfies(act -> {
            assertThat(act.action()).isEqualTo(LockAudit.FORCED_RELEASE);
            assertThat(act.fencingToken()).isEqualTo(first.fencingToken());
            assertThat(act.reason()).isEqualTo("it hangs");
            assertThat(act.doneBy()).startsWith("billing:");
            assertThat(act.holder()).startsWith("shop:");
            assertThat(act.doneAt()).isBeforeOrEqualTo(shop.admin().databaseClock());
        });
        assertThat(shop.admin().audit("other", 10)).isEmpty();
        assertThatIllegalArgumentException().isThrownBy(() -> shop.admin().audit("stuck", 0));
    }
}
