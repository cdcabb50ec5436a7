package io.github.holdfast.repository.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.store.OtherClient;
import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.repository.store.TestThreads;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The rows of the nodes on a database: who waits for whom, and what each call costs. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class LockNodeRepositoryTest extends LockNodeRepositoryContract {

    private final Database database;
    private final TestApplication onDatabase;

    LockNodeRepositoryTest(Database database) {
        this.database = database;
        onDatabase = TestApplication.on(database, this::configure);
        application = onDatabase;
    }

    /** For leaves that connect in another way. */
    void configure(HikariConfig pool) {}

    @Test
    void aBeatWaitsForAMarkThatIsOnItsWayAndHappensThen() throws Exception {
        LockNode node = register("node", LEASE);
        try (OtherClient marking = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            marking.execute("update lock_node set waits_until = expires_at where id = 'node'");
            Future<Boolean> beaten = threads.start(() -> beat(node, 0));
            assertThatThrownBy(() -> beaten.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            marking.commit();

            assertThat(beaten.get(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void theEndOfAnOverdueNodeWaitsForAHeartbeatThatIsOnItsWayAndDoesNotHappenThen() throws Exception {
        overdue("node");
        try (OtherClient beating = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            beating.execute("update lock_node set expires_at = expires_at + interval '60' second,"
                    + " version = version + 1 where id = 'node'");
            Future<Boolean> ended = threads.start(() -> endIfOverdue("node"));
            assertThatThrownBy(() -> ended.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            beating.commit();

            assertThat(ended.get(60, TimeUnit.SECONDS)).isFalse();
        }
        assertThat(read("node").isAlive()).isTrue();
    }

    @Test
    void aBeatWaitsForAnEndThatIsOnItsWayAndMissesThen() throws Exception {
        LockNode node = register("node", LEASE);
        try (OtherClient ending = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            ending.execute("update lock_node set ended = (1 = 1), version = version + 1 where id = 'node'");
            Future<Boolean> beaten = threads.start(() -> beat(node, 0));
            assertThatThrownBy(() -> beaten.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            ending.commit();

            assertThat(beaten.get(60, TimeUnit.SECONDS)).isFalse();
        }
        assertThat(node("node").isEnded()).isTrue();
    }

    // Statements

    @Test
    void eachMethodIsOneStatement() {
        register("node", LEASE);
        assertOneStatement("select ", nodes -> nodes.read("node"));
        assertOneStatement("select ", nodes -> nodes.page("", 10));
        assertOneStatement("insert into lock_node", nodes -> {
            nodes.register("another", LEASE, null);
            return true;
        });
        assertOneStatement("update lock_node", nodes -> nodes.beat("node", 0, 1, Micros.of(LEASE)));
        assertOneStatement("update lock_node", nodes -> nodes.alert("node"));
        assertOneStatement("update lock_node", nodes -> nodes.markWaiting("node", LEASE, 7L));
        assertOneStatement("update lock_node", nodes -> nodes.markListening("node", 8));
        assertOneStatement("update lock_node", nodes -> nodes.endIfOverdue("node", LEASE));
        assertOneStatement("update lock_node", nodes -> nodes.stop("node", 0, 0));
        assertOneStatement("update lock_node", nodes -> nodes.endSilent("node", 0));
        assertOneStatement("select ", LockNodeRepository::living);
    }

    private void assertOneStatement(String begin, Function<LockNodeRepository, ?> work) {
        onDatabase.dataSource().reset();
        call(work);
        assertThat(onDatabase.dataSource().sql())
                .singleElement()
                .satisfies(sql -> assertThat(sql).startsWith(begin).doesNotContain(" for "));
        assertThat(onDatabase.dataSource().commits()).isEqualTo(1);
    }
}
