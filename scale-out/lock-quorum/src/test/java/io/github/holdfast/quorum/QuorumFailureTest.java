package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.test.ClockedDatabase;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.RestartableDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Servers of several kinds that are killed, restarted and set back, clocks that are apart, and clients that are in each other's way. */
@Tag("outage")
class QuorumFailureTest extends TestOfServers {

    @Test
    void twoOfFiveServersAreKilledAndComeBack() throws Exception {
        RestartableDatabase postgres = open(RestartableDatabase.start(TestDatabase.POSTGRESQL));
        RestartableDatabase mariadb = open(RestartableDatabase.start(TestDatabase.MARIADB));
        List<Database> databases = new ArrayList<>(List.of(postgres.database(), mariadb.database()));
        databases.addAll(create(TestDatabase.MYSQL, TestDatabase.H2_TCP, TestDatabase.H2_MEMORY));
        Client holder = open(Client.on(databases, Client.SHORT_NODE_LEASE));
        Client other = open(Client.on(databases, Client.SHORT_NODE_LEASE));
        LockHandle lock = holder.locks().acquire(LockRequest.of("killed"));
        List<LockHandle> ofNodes = ofNodes(holder, 0, 1);
        List<LockLost> told = new CopyOnWriteArrayList<>();
        lock.onLost(told::add);
        QuorumToken token = QuorumToken.of(lock);

        postgres.kill();
        mariadb.kill();

        awaitLost(ofNodes);
        assertThat(lock.state()).isEqualTo(LockState.HELD);
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
        release(lock, other);
        release(meanwhile, other);
        LockHandle next = tryAcquire(other, "killed").orElseThrow();
        assertThat(token.isOlderThan(QuorumToken.of(next))).isTrue();
        next.release();
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
        Client holder = open(Client.on(databases, Client.NODE_LEASE));
        Client other = open(Client.on(databases, Client.NODE_LEASE));
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
        release(lock, other);
        LockHandle next = other.locks().acquire(LockRequest.of("forgotten").waitAtMost(LONG));
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
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(lease, lease.plusSeconds(30));
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
                assertThat(Duration.ofNanos(first)).isLessThan(LONG.dividedBy(2));
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
