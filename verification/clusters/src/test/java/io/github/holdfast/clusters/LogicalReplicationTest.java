package io.github.holdfast.clusters;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.LockSchema;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** Two servers of PostgreSQL that apply each other's changes later, and do not tell a writer that its change was overwritten. */
@Tag("cluster")
class LogicalReplicationTest {

    private static final LockRequest REQUEST = LockRequest.of("lock").lease(ofMinutes(10));

    private final PostgresServer one = PostgresServer.create();
    private final PostgresServer other = PostgresServer.create();

    @BeforeEach
    void start() {
        for (PostgresServer server : new PostgresServer[] {one, other}) {
            server.replicateLogically();
            server.start();
            LockSchema.on(new DriverManagerDataSource(server.url())).createIfMissing();
            server.execute("create publication changes for all tables");
        }
    }

    @AfterEach
    void end() {
        one.close();
        other.close();
    }

    private void subscribe(PostgresServer target, PostgresServer source, String name) {
        target.execute("create subscription " + name + " connection 'host=127.0.0.1 port=" + source.port()
                + " user=postgres dbname=postgres' publication changes with (copy_data = false, origin = none)");
        await().atMost(ofSeconds(60))
                .pollInterval(ofMillis(50))
                .until(() -> target.count("select 1 from pg_subscription_rel where srsubstate <> 'r'") == 0);
    }

    /** The one-way replication of an upgrade: the source may be used for locks, and its target may not. */
    @Test
    void theTargetIsRefusedAndTheSourceIsNot() {
        subscribe(other, one, "upgrade");

        Application.on(one.url(), builder -> builder).close();
        assertThatIllegalStateException()
                .isThrownBy(() -> Application.on(other.url(), builder -> builder))
                .withMessageContainingAll("the subscription upgrade", "holdfast.accept=replicated-tables");

        other.execute("alter subscription upgrade disable");
        Application.on(other.url(), builder -> builder).close();
    }

    /** Without the locks' tables in the publication, each server has locks of its own. */
    @Test
    void otherTablesMayBeReplicated() {
        one.execute("create table shop (id bigint primary key)", "create publication shop for table shop");
        other.execute(
                "create table shop (id bigint primary key)",
                "create subscription shop connection 'host=127.0.0.1 port=" + one.port()
                        + " user=postgres dbname=postgres' publication shop");

        Application.on(other.url(), builder -> builder).close();
    }

    @Test
    void twoProcessesHoldOneLockIfTheRiskIsAccepted() throws InterruptedException {
        subscribe(other, one, "from_one");
        subscribe(one, other, "from_other");
        for (PostgresServer server : new PostgresServer[] {one, other}) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> Application.on(server.url(), builder -> builder))
                    .withMessageContaining("replicated-tables");
        }

        try (Application first = Application.on(one.url(), builder -> builder.accept(DatabaseRisk.REPLICATED_TABLES));
                Application second =
                        Application.on(other.url(), builder -> builder.accept(DatabaseRisk.REPLICATED_TABLES))) {
            // Until the first grant has arrived there, the second server has no reason to refuse.
            other.execute("alter subscription from_one disable");
            LockHandle held = first.locks().acquire(REQUEST);
            LockHandle alsoHeld = second.locks().acquire(REQUEST);
            other.execute("alter subscription from_one enable");

            assertThat(held.state()).isEqualTo(LockState.HELD);
            assertThat(alsoHeld.state()).isEqualTo(LockState.HELD);
        }
    }
}
