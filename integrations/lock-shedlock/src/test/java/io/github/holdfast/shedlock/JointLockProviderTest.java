package io.github.holdfast.shedlock;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider.Configuration;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;

/** An update without a stop: nodes with ShedLock's own table, nodes with both, and nodes with Holdfast only. */
@OnEachDatabase
class JointLockProviderTest extends ProviderContract {

    private LockProvider former;
    private LockProvider both;
    private LockProvider bothOfOther;
    private HoldfastLockProvider next;

    @BeforeAll
    void makeProviders(Database database) {
        // With milliseconds, PostgreSQL would round up: a lock that was released would be taken for half a millisecond
        // more.
        database.execute(
                "create table shedlock (name varchar(64) not null primary key, lock_until timestamp(6) not null,"
                        + " locked_at timestamp(6) not null, locked_by varchar(255) not null)");
        former = shedLock(database);
        both = HoldfastLockProvider.of(one.locks()).togetherWith(shedLock(database));
        bothOfOther = HoldfastLockProvider.of(other.locks()).togetherWith(former);
        next = HoldfastLockProvider.of(other.locks());
    }

    private static LockProvider shedLock(Database database) {
        return new JdbcTemplateLockProvider(Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(database.pool(pool -> {})))
                .usingDbTime()
                .build());
    }

    @Test
    void aNodeWithBothExcludesTheFormerAndTheNextAndAnotherWithBoth() {
        SimpleLock lock = taken(both);
        assertRefused(former);
        assertRefused(next);
        assertRefused(bothOfOther);
        assertRefused(both);
        lock.unlock();
        assertFree(former);
        assertFree(next);
        assertFree(bothOfOther);
    }

    @Test
    void aNodeWithTheFormerExcludesANodeWithBothAndKeepsNothingFromTheNext() {
        SimpleLock lock = taken(former);
        assertRefused(both);
        assertFree(next);
        lock.unlock();
        assertFree(both);
    }

    @Test
    void aRefusalByTheNextLeavesTheFormerFreeAtOnce() {
        SimpleLock lock = taken(next);
        assertThat(both.lock(configuration(LONG, ofSeconds(60)))).isEmpty();
        assertFree(former);
        lock.unlock();
        assertFree(both);
    }

    @Test
    void bothStayUnavailableForAtLeastThatLong() {
        Duration atLeast = ofSeconds(5);
        long before = System.nanoTime();
        taken(both, LONG, atLeast).unlock();
        assertRefused(former);
        assertRefused(next);
        assertRefused(bothOfOther);
        awaited(former).unlock();
        assertThat(since(before)).isGreaterThanOrEqualTo(atLeast);
        awaited(next).unlock();
        assertThat(since(before)).isGreaterThanOrEqualTo(atLeast);
        awaited(bothOfOther).unlock();
    }

    @Test
    void bothAreFreeAfterAtMostThatLong() {
        SimpleLock expired = taken(both, ofSeconds(2), ZERO);
        awaited(former).unlock();
        awaited(next).unlock();
        expired.unlock();
        assertFree(bothOfOther);
    }

    @Test
    void anExtensionExtendsBoth() {
        SimpleLock lock = taken(both, ofSeconds(5), ZERO).extend(LONG, ZERO).orElseThrow();
        await().during(ofSeconds(6))
                .atMost(SOON)
                .until(() -> lock(former).isEmpty() && lock(next).isEmpty());
        lock.unlock();
        assertFree(former);
        assertFree(next);
    }

    @Test
    void anExtensionFailsIfEitherIsLostAndFreesTheOther(Database database) {
        SimpleLock lock = taken(both);
        assertThat(other.locks().admin().forceRelease(name, "test")).isPresent();
        assertThat(lock.extend(LONG, ZERO)).isEmpty();
        assertFree(former);

        newName();
        SimpleLock second = taken(both);
        database.execute("delete from shedlock where name = '" + name + "'");
        assertThat(second.extend(LONG, ZERO)).isEmpty();
        assertFree(next);
    }

    @Test
    void aFormerProviderThatCannotExtendIsEnough() {
        LockProvider notExtensible = configuration -> former.lock(configuration);
        LockProvider plain = HoldfastLockProvider.of(one.locks()).togetherWith(notExtensible);
        SimpleLock lock = taken(plain, LONG, ofSeconds(5));
        assertRefused(former);
        assertRefused(next);
        lock.unlock();
        assertRefused(former);
        awaited(former).unlock();
        awaited(next).unlock();
    }

    @Test
    void aFailureOfTheNextIsAnErrorAndFreesTheFormer(Database database) {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockProvider faulty =
                HoldfastLockProvider.of(nodes.openOver(faults).locks()).togetherWith(former);
        faults.down();
        assertThatThrownBy(() -> lock(faulty)).isInstanceOf(LockException.class);
        assertFree(former);
        faults.up();
    }

    /** Both steps of an update: nobody runs beside another one, and no kind of node is kept out. */
    @Test
    void nodesOfEachStepOfAnUpdateExcludeEachOther() throws Exception {
        assertThat(mostAtOnce(List.of(former, both, bothOfOther))).isEqualTo(1);
        newName();
        assertThat(mostAtOnce(List.of(both, bothOfOther, next))).isEqualTo(1);
    }

    @Test
    void oneOfManyNodesWithBothGetsTheLock() throws Exception {
        for (int round = 0; round < 10; round++) {
            List<Optional<SimpleLock>> locks = together(8, thread -> () -> lock(thread % 2 == 0 ? both : bothOfOther));
            assertThat(locks).filteredOn(Optional::isPresent).hasSize(1);
            locks.forEach(lock -> lock.ifPresent(SimpleLock::unlock));
        }
    }
}
