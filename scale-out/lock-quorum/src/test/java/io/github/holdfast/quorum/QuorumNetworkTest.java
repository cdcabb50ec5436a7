package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.Proxy;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Networks that freeze, break, or are slow, in front of servers of several kinds. */
@Tag("outage")
class QuorumNetworkTest extends TestOfServers {

    private static final Duration MEMBER_TIMEOUT = Duration.ofMillis(500);

    /** What lasts longer than this may be given up by a lock service. */
    private static final Duration SHORTEST_STATEMENT = Duration.ofSeconds(1);

    private List<Proxy> proxies(List<Database> databases) {
        return databases.stream()
                .map(database -> open(Proxy.to(database.url())))
                .toList();
    }

    private Client behind(List<Proxy> proxies, List<Database> databases, Duration memberTimeout) {
        return open(Client.at(proxies.stream().map(Proxy::url).toList(), databases, memberTimeout));
    }

    @Test
    void slowMembersAreWaitedForByAcquisitionsAndWhenTheLocksAreClosed() throws Exception {
        List<Database> databases = create(TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL);
        List<Proxy> proxies = proxies(databases);
        // The answer to one statement takes more than a tenth of it.
        Duration wait = Duration.ofSeconds(3);
        Client client = behind(proxies, databases, wait.multipliedBy(2));
        client.locks().acquire(LockRequest.of("slow")).release();

        proxies.forEach(proxy -> proxy.set(Proxy.Mode.DELAY));

        LockHandle lock =
                client.locks().acquire(LockRequest.of("slow").lease(LONG).waitAtMost(wait));
        assertThat(lock.state()).isEqualTo(LockState.HELD);

        long closing = System.nanoTime();
        client.locks().close();
        Duration closed = Duration.ofNanos(System.nanoTime() - closing);

        String held = "select count(*) from distributed_lock where name = 'slow' and owner is not null";
        if (closed.compareTo(SHORTEST_STATEMENT) < 0) {
            assertThat(databases)
                    .allSatisfy(
                            database -> assertThat(database.queryForLong(held)).isZero());
        }
        // On a loaded machine, a release may be given up, and repeated in the background.
        await().atMost(LONG)
                .untilAsserted(() -> assertThat(databases)
                        .allSatisfy(database ->
                                assertThat(database.queryForLong(held)).isZero()));
    }

    @Test
    void aFrozenMemberCostsTimeAndTwoOfThreeCostTheLock() throws Exception {
        List<Database> databases = create(TestDatabase.POSTGRESQL, TestDatabase.MYSQL, TestDatabase.H2_TCP);
        List<Proxy> proxies = proxies(databases);
        Client holder = behind(proxies, databases, MEMBER_TIMEOUT);
        LockHandle lock = holder.locks().acquire(LockRequest.of("frozen"));
        List<LockHandle> ofNodes = ofNodes(holder, 0);
        List<LockLost> told = new CopyOnWriteArrayList<>();
        lock.onLost(told::add);

        proxies.get(0).set(Proxy.Mode.BLACK_HOLE);

        for (int round = 0; round < 6; round++) {
            try (LockHandle one = holder.locks().acquire(LockRequest.of("one frozen"))) {
                assertThat(one.state()).isEqualTo(LockState.HELD);
            }
        }
        awaitLost(ofNodes);
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(told).isEmpty();

        proxies.get(1).set(Proxy.Mode.BLACK_HOLE);

        assertThatThrownBy(() -> tryAcquire(holder, "two frozen")).isInstanceOf(LockStoreException.class);
        await().atMost(LONG).until(() -> !told.isEmpty());
        assertThat(told).extracting(LockLost::cause).containsExactly(LossCause.DATABASE_UNREACHABLE);
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);

        proxies.forEach(proxy -> {
            proxy.set(Proxy.Mode.PASS);
            proxy.cut();
        });

        LockHandle next = holder.locks().acquire(LockRequest.of("frozen").waitAtMost(LONG));
        assertThat(QuorumToken.of(lock).isOlderThan(QuorumToken.of(next))).isTrue();
        next.release();
        assertThat(told).hasSize(1);
    }

    @Test
    void aLateGrantJoinsTheHoldOrIsReleased() throws Exception {
        List<Database> databases = create(TestDatabase.H2_MEMORY, TestDatabase.MARIADB, TestDatabase.POSTGRESQL);
        Proxy slow = open(Proxy.to(databases.get(2).url()));
        List<String> urls = List.of(databases.get(0).url(), databases.get(1).url(), slow.url());
        Client holder = open(Client.at(urls, databases, MEMBER_TIMEOUT));
        Client other = open(Client.on(databases, Client.NODE_LEASE));
        slow.set(Proxy.Mode.DELAY);

        LockHandle lock = holder.locks().acquire(LockRequest.of("late"));
        QuorumToken token = QuorumToken.of(lock);
        assertThat(token.ofMembers().get(2)).isEmpty();
        await().atMost(LONG).until(() -> isHeldAt(other, 2, "late"));
        assertThat(QuorumToken.of(lock)).isEqualTo(token);
        lock.release();
        await().atMost(LONG).until(() -> !isHeldAt(other, 2, "late"));

        for (int round = 0; round < 3; round++) {
            holder.locks().acquire(LockRequest.of("late release")).release();
        }
        // Two members are not enough for the other one if one of them is kept from it, so the third must be free again.
        try (LockHandle kept = holder.member(0).acquire(LockRequest.of("late release"));
                LockHandle next =
                        other.locks().acquire(LockRequest.of("late release").waitAtMost(LONG))) {
            assertThat(List.of(kept.state(), next.state())).containsOnly(LockState.HELD);
        }
    }

    @Test
    void brokenConnectionsCostNothing() throws Exception {
        List<Database> databases = create(TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL);
        List<Proxy> proxies = proxies(databases);
        Client holder = behind(proxies, databases, MEMBER_TIMEOUT);
        LockHandle lock = holder.locks().acquire(LockRequest.of("cut"));
        for (int round = 0; round < 4; round++) {
            proxies.forEach(Proxy::cut);
            try (LockHandle another =
                    holder.locks().acquire(LockRequest.of("after the cut").waitAtMost(LONG))) {
                assertThat(another.state()).isEqualTo(LockState.HELD);
            }
        }
        await().during(Client.SHORT_NODE_LEASE).atMost(LONG).until(() -> lock.state() == LockState.HELD);
        release(lock, holder);
    }
}
