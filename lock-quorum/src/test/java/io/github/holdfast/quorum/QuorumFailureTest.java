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
import io.github.holdfast.test.ClockedDatabase;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.Proxy;
import io.github.holdfast.test.RestartableDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Servers of several kinds that are killed, frozen, cut off, restarted and set back, and clocks that are apart. */
class QuorumFailureTest {

    private static final Duration LONG = Duration.ofSeconds(40);
    private static final Duration MEMBER_TIMEOUT = Duration.ofMillis(500);

    /** What a test has opened, the last first. */
    private final List<AutoCloseable> opened = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : opened) {
            one.close();
        }
    }

    private <T extends AutoCloseable> T open(T one) {
        opened.add(0, one);
        return one;
    }

    private List<Database> create(TestDatabase... kinds) {
        return Stream.of(kinds).map(kind -> open(Database.create(kind))).toList();
    }

    private List<Proxy> proxies(List<Database> databases) {
        return databases.stream()
                .map(database -> open(Proxy.to(database.url())))
                .toList();
    }

    private Client behind(List<Proxy> proxies, List<Database> databases, Duration memberTimeout) {
        return open(Client.at(proxies.stream().map(Proxy::url).toList(), databases, memberTimeout));
    }

    private static boolean isHeldAt(Client client, int member, String name) {
        return client.member(member).find(name).isPresent();
    }

    private static Optional<LockHandle> tryAcquire(Client client, String name) {
        return client.locks().tryAcquire(LockRequest.of(name));
    }

    @Test
    void twoOfFiveServersAreKilledAndComeBack() throws Exception {
        RestartableDatabase postgres = open(RestartableDatabase.start(TestDatabase.POSTGRESQL));
        RestartableDatabase mariadb = open(RestartableDatabase.start(TestDatabase.MARIADB));
        List<Database> databases = new ArrayList<>(List.of(postgres.database(), mariadb.database()));
        databases.addAll(create(TestDatabase.MYSQL, TestDatabase.H2_TCP, TestDatabase.H2_MEMORY));
        Client holder = open(Client.on(databases));
        Client other = open(Client.on(databases));
        LockHandle lock = holder.locks().acquire(LockRequest.of("killed"));
        List<LockLost> told = new CopyOnWriteArrayList<>();
        lock.onLost(told::add);
        QuorumToken token = QuorumToken.of(lock);

        postgres.kill();
        mariadb.kill();

        await().during(Client.NODE_LEASE.multipliedBy(2)).atMost(LONG).until(() -> lock.state() == LockState.HELD);
        assertThat(tryAcquire(other, "killed")).isEmpty();
        LockHandle meanwhile = other.locks().acquire(LockRequest.of("meanwhile").waitAtMost(LONG));
        assertThat(QuorumToken.of(meanwhile).ofMembers().subList(0, 2)).allMatch(number -> number.isEmpty());

        postgres.restart();
        mariadb.restart();

        for (int member = 0; member < 5; member++) {
            int number = member;
            await().atMost(LONG).ignoreExceptions().until(() -> isHeldAt(other, number, "killed"));
            await().atMost(LONG).ignoreExceptions().until(() -> isHeldAt(holder, number, "meanwhile"));
        }
        assertThat(QuorumToken.of(lock)).isEqualTo(token);
        assertThat(told).isEmpty();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(meanwhile.release()).isEqualTo(ReleaseOutcome.RELEASED);
        LockHandle next = tryAcquire(other, "killed").orElseThrow();
        assertThat(token.isOlderThan(QuorumToken.of(next))).isTrue();
        next.release();
    }

    @Test
    void aFrozenMemberCostsTimeAndTwoOfThreeCostTheLock() throws Exception {
        List<Database> databases = create(TestDatabase.POSTGRESQL, TestDatabase.MYSQL, TestDatabase.H2_TCP);
        List<Proxy> proxies = proxies(databases);
        Client holder = behind(proxies, databases, MEMBER_TIMEOUT);
        LockHandle lock = holder.locks().acquire(LockRequest.of("frozen"));
        List<LockLost> told = new CopyOnWriteArrayList<>();
        lock.onLost(told::add);

        proxies.get(0).set(Proxy.Mode.BLACK_HOLE);

        for (int round = 0; round < 10; round++) {
            try (LockHandle one = holder.locks().acquire(LockRequest.of("one frozen"))) {
                assertThat(one.state()).isEqualTo(LockState.HELD);
            }
        }
        await().during(Client.NODE_LEASE.multipliedBy(2)).atMost(LONG).until(() -> lock.state() == LockState.HELD);
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
        Client other = open(Client.on(databases));
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
    void slowMembersAreWaitedForByAcquisitionsAndWhenTheLocksAreClosed() throws Exception {
        List<Database> databases = create(TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL);
        List<Proxy> proxies = proxies(databases);
        Duration wait = Duration.ofSeconds(6);
        Client client = behind(proxies, databases, wait);
        client.locks().acquire(LockRequest.of("slow")).release();

        proxies.forEach(proxy -> proxy.set(Proxy.Mode.DELAY));

        LockHandle lock =
                client.locks().acquire(LockRequest.of("slow").lease(LONG).waitAtMost(wait));
        assertThat(lock.state()).isEqualTo(LockState.HELD);

        client.locks().close();

        String held = "select count(*) from distributed_lock where name = 'slow' and owner is not null";
        assertThat(databases)
                .allSatisfy(database -> assertThat(database.queryForLong(held)).isZero());
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
        await().during(Client.NODE_LEASE).atMost(LONG).until(() -> lock.state() == LockState.HELD);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    /** A failover that loses commits, or a restored backup. The holder has all five, so two may forget. */
    @Test
    void twoOfFiveMembersForgetTheGrant() throws Exception {
        List<Database> databases = create(
                TestDatabase.POSTGRESQL,
                TestDatabase.MYSQL,
                TestDatabase.MARIADB,
                TestDatabase.H2_TCP,
                TestDatabase.H2_MEMORY);
        Client holder = open(Client.on(databases));
        Client other = open(Client.on(databases));
        holder.locks().acquire(LockRequest.of("forgotten")).release();
        await().atMost(LONG).until(() -> holder.locks().find("forgotten").isEmpty());
        List<String> before = databases.stream().map(QuorumFailureTest::rowOf).toList();
        LockHandle lock = holder.locks().acquire(LockRequest.of("forgotten"));
        for (int member = 0; member < 5; member++) {
            int number = member;
            await().atMost(LONG).until(() -> isHeldAt(other, number, "forgotten"));
        }

        for (int member : List.of(0, 3)) {
            databases.get(member).execute(before.get(member));
        }

        assertThat(tryAcquire(other, "forgotten")).isEmpty();
        await().atMost(LONG).until(() -> isHeldAt(other, 0, "forgotten") && isHeldAt(other, 3, "forgotten"));
        assertThat(tryAcquire(other, "forgotten")).isEmpty();
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        LockHandle next = other.locks().acquire(LockRequest.of("forgotten"));
        assertThat(QuorumToken.of(lock).isOlderThan(QuorumToken.of(next))).isTrue();
        next.release();
    }

    /** Returns the statement that brings the present row back. */
    private static String rowOf(Database database) {
        String row = " from distributed_lock where name = 'forgotten'";
        return "update distributed_lock set owner = null, node_id = null, holder = null, hold_count = 0, fencing_token = %d,"
                        .formatted(database.queryForLong("select fencing_token" + row))
                + " version = %d where name = 'forgotten'".formatted(database.queryForLong("select version" + row));
    }

    @Test
    void clocksMayBeYearsApart() throws Exception {
        ZoneId zone = ZoneId.of("Europe/Berlin");
        List<Database> databases = List.of(
                open(ClockedDatabase.start(TestDatabase.POSTGRESQL, LocalDateTime.parse("2031-05-01T10:00:00"), zone))
                        .database(),
                open(ClockedDatabase.start(TestDatabase.MYSQL, LocalDateTime.parse("2024-02-29T23:59:00"), zone))
                        .database(),
                create(TestDatabase.H2_TCP).get(0));
        Client one = open(Client.on(databases));
        Client other = open(Client.on(databases));
        QuorumToken seen = null;
        for (int round = 0; round < 10; round++) {
            Client client = round % 2 == 0 ? one : other;
            // Another member is kept away each time, so that the majorities differ.
            int away = round % 3;
            String name = "clocks";
            LockHandle kept = one.member(away).acquire(LockRequest.of(name));
            try (LockHandle lock = client.locks().acquire(LockRequest.of(name))) {
                QuorumToken token = QuorumToken.of(lock);
                assertThat(token.isOlderThan(seen)).isFalse();
                assertThat(seen == null || seen.isOlderThan(token)).isTrue();
                seen = token.mergedWith(seen);
            }
            kept.release();
        }
        Duration lease = Duration.ofSeconds(2);
        long start = System.nanoTime();
        LockHandle leased = one.locks().acquire(LockRequest.of("leased").lease(lease));
        LockHandle next = other.locks().acquire(LockRequest.of("leased").waitAtMost(LONG));
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(lease, lease.multipliedBy(4));
        assertThat(leased.state()).isEqualTo(LockState.LOST);
        assertThat(next.state()).isEqualTo(LockState.HELD);
    }

    @Test
    void threeClientsThatSplitTheMembersAllGetTheirTurn() throws Exception {
        List<Database> databases = create(
                TestDatabase.H2_MEMORY,
                TestDatabase.H2_MEMORY,
                TestDatabase.H2_TCP,
                TestDatabase.POSTGRESQL,
                TestDatabase.MARIADB);
        List<Client> clients =
                Stream.generate(() -> open(Client.on(databases))).limit(3).toList();
        CyclicBarrier together = new CyclicBarrier(3);
        ExecutorService threads = Executors.newFixedThreadPool(3);
        try {
            for (int round = 0; round < 3; round++) {
                List<Future<Long>> turns = clients.stream()
                        .map(client -> threads.submit(() -> {
                            together.await();
                            long start = System.nanoTime();
                            client.locks()
                                    .run(
                                            LockRequest.of("split").waitAtMost(LONG),
                                            lock -> assertThat(lock.state()).isEqualTo(LockState.HELD));
                            return System.nanoTime() - start;
                        }))
                        .toList();
                long first = Long.MAX_VALUE;
                for (Future<Long> turn : turns) {
                    first = Math.min(first, turn.get(LONG.toSeconds() + 10, TimeUnit.SECONDS));
                }
                assertThat(Duration.ofNanos(first)).isLessThan(Duration.ofSeconds(5));
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
