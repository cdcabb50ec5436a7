package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;

/** What tests with servers, clients and proxies need. */
abstract class TestOfServers {

    static final Duration LONG = Duration.ofSeconds(40);

    /** What a test has opened, the last first. */
    private final List<AutoCloseable> opened = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : opened) {
            one.close();
        }
    }

    <T extends AutoCloseable> T open(T one) {
        opened.add(0, one);
        return one;
    }

    List<Database> create(TestDatabase... kinds) {
        return Stream.of(kinds).map(kind -> open(Database.create(kind))).toList();
    }

    static boolean isHeldAt(Client client, int member, String name) {
        return client.member(member).find(name).isPresent();
    }

    static Optional<LockHandle> tryAcquire(Client client, String name) {
        return client.locks().tryAcquire(LockRequest.of(name));
    }

    /** Acquires a lock of each of these members alone. It is lost when all is that the client's node holds there. */
    static List<LockHandle> ofNodes(Client client, int... members) {
        return IntStream.of(members)
                .mapToObj(member -> client.member(member)
                        .tryAcquire(LockRequest.of("of the node"))
                        .orElseThrow())
                .toList();
    }

    static void awaitLost(List<LockHandle> locks) {
        await().atMost(LONG)
                .untilAsserted(
                        () -> assertThat(locks).extracting(LockHandle::state).containsOnly(LockState.LOST));
    }

    /** Releases a lock. A member may answer late, or after its connection has broken. */
    static void release(LockHandle lock, Client client) {
        assertThat(lock.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED);
        await().atMost(LONG)
                .ignoreExceptions()
                .untilAsserted(() -> assertThat(client.members())
                        .allSatisfy(
                                member -> assertThat(member.find(lock.name())).isEmpty()));
    }
}
