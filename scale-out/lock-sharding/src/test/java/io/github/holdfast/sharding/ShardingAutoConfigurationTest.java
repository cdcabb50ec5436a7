package io.github.holdfast.sharding;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.util.Arrays;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** What the properties of sharding make of two lock services. */
@TestInstance(Lifecycle.PER_CLASS)
class ShardingAutoConfigurationTest {

    private static final String[] BY_PREFIX = {
        "holdfast.sharding.prefixes.orderLocks=order:,stock:",
        "holdfast.sharding.prefixes.archiveLocks=archive:",
        "holdfast.sharding.others=orderLocks"
    };

    private final Nodes nodes = new Nodes();
    private Database orders;
    private Database archive;

    @BeforeAll
    void createDatabases() {
        orders = nodes.database(TestDatabase.H2_MEMORY);
        archive = nodes.database(TestDatabase.H2_MEMORY);
    }

    @AfterAll
    void close() throws Exception {
        nodes.close();
    }

    /** Its services are closed with its context. */
    private ApplicationContextRunner application() {
        return new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(ShardingAutoConfiguration.class))
                .withBean(
                        "orderLocks",
                        LockService.class,
                        () -> nodes.open(orders).locks())
                .withBean(
                        "archiveLocks",
                        LockService.class,
                        () -> nodes.open(archive).locks());
    }

    @Test
    void prefixesLeadToServices() {
        application().withPropertyValues(BY_PREFIX).run(context -> {
            assertThat(context).hasNotFailed();
            ShardedLocks locks = context.getBean(ShardedLocks.class);
            assertThat(context.getBean(Locks.class)).isSameAs(locks);
            LockService orderLocks = context.getBean("orderLocks", LockService.class);
            LockService archiveLocks = context.getBean("archiveLocks", LockService.class);
            assertThat(locks.serviceFor("order:1")).isSameAs(orderLocks);
            assertThat(locks.serviceFor("stock:1")).isSameAs(orderLocks);
            assertThat(locks.serviceFor("archive:1")).isSameAs(archiveLocks);
            assertThat(locks.serviceFor("another")).isSameAs(orderLocks);
            try (LockHandle held = locks.acquire(LockRequest.of("archive:1"))) {
                assertThat(archiveLocks.find("archive:1"))
                        .hasValueSatisfying(found -> assertThat(found.owner()).isEqualTo(held.owner()));
            }
        });
    }

    @Test
    void aHashIsOverAnOrderedList() {
        application()
                .withPropertyValues("holdfast.sharding.hash=orderLocks,archiveLocks")
                .run(context -> {
                    ShardedLocks locks = context.getBean(ShardedLocks.class);
                    assertThat(locks.serviceFor("order:1001")).isSameAs(context.getBean("orderLocks"));
                    assertThat(locks.serviceFor("stock:lamp")).isSameAs(context.getBean("archiveLocks"));
                });
    }

    @Test
    void aChangeLocksOnBoth() {
        application()
                .withPropertyValues(
                        "holdfast.sharding.hash[0]=orderLocks",
                        "holdfast.sharding.next.hash=orderLocks,archiveLocks",
                        "holdfast.sharding.next.tokens-from=2026-12-01T03:00:00Z")
                .run(context -> {
                    ShardedLocks locks = context.getBean(ShardedLocks.class);
                    try (LockHandle held = locks.acquire(LockRequest.of("stock:lamp"))) {
                        assertThat(held.remaining()).isPositive();
                        assertThat(context.getBeansOfType(LockService.class).values())
                                .allSatisfy(service ->
                                        assertThat(service.find("stock:lamp")).isPresent());
                    }
                });
    }

    @Test
    void withoutPropertiesThereIsNone() {
        application().run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(ShardedLocks.class));
    }

    @Test
    void switchedOffThereIsNone() {
        application()
                .withPropertyValues(BY_PREFIX)
                .withPropertyValues("holdfast.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(ShardedLocks.class));
    }

    @Test
    void wrongPropertiesAreNamed() {
        assertRefused("holdfast.sharding.hash=orderLocks,archivLocks")
                .hasMessageContaining("There is no LockService bean of this name, only [orderLocks, archiveLocks]");
        assertRefused("holdfast.sharding.hash=orderLocks,orderLocks").hasMessageContaining("holdfast.sharding.hash");
        assertRefused("holdfast.sharding.hash=orderLocks", BY_PREFIX[1])
                .hasMessageContaining("Set either prefixes and perhaps others, or hash");
        assertRefused("holdfast.sharding.others=orderLocks").hasMessageContaining("Set either prefixes");
        assertRefused(BY_PREFIX[0], "holdfast.sharding.prefixes.archiveLocks=stock:")
                .hasMessageContaining("holdfast.sharding.prefixes")
                .hasMessageContaining("stock:");
        assertRefused(BY_PREFIX[0], "holdfast.sharding.prefixes.archiveLocks=archive:,")
                .hasMessageContaining("holdfast.sharding.prefixes.archiveLocks")
                .hasMessageContaining("holdfast.sharding.others");
        assertRefused(BY_PREFIX[0], "holdfast.sharding.next.hash=orderLocks")
                .hasMessageContaining("holdfast.sharding.next.tokens-from");
    }

    private AbstractThrowableAssert<?, ? extends Throwable> assertRefused(String... properties) {
        Throwable[] failure = new Throwable[1];
        application().withPropertyValues(properties).run(context -> failure[0] = context.getStartupFailure());
        return assertThat(failure[0])
                .as(Arrays.toString(properties))
                .isNotNull()
                .rootCause();
    }
}
