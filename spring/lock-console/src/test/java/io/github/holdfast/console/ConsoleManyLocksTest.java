package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.console.LockConsole.RecentLosses;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockFilter;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.junit.jupiter.api.Test;

/** What the console reads of 10,000 held locks, and of many old nodes and runs. */
@OnDatabase(TestDatabase.POSTGRESQL)
class ConsoleManyLocksTest {

    @Test
    void aPageOfTenThousandLocksIsOneStatementAndNeverMoreThanAPage(Database database) throws Exception {
        emptyTables(database);
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        try (HikariDataSource pool = database.pool(config -> config.setDataSource(counting));
                EntityManagerFactory unit = new HibernatePersistenceConfiguration("many")
                        .managedClasses(LockEntity.ENTITIES)
                        .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                        .createEntityManagerFactory();
                // Nothing else sends statements meanwhile.
                LockService service = LockService.builder(unit)
                        .withoutHousekeeping()
                        .withoutWakeUp()
                        .nodeLease(Duration.ofHours(1))
                        .build();
                LockHandle one = service.acquire(LockRequest.of("pattern"))) {
            fill(database, one);
            LockFilter all = LockFilter.all();

            HeldSection section = assertReads(counting, service, query("", all));
            assertThat(section.locks()).hasSize(ConsoleState.PAGE_SIZE);
            assertThat(section.last()).isEqualTo("bulk:00100");
            assertThat(assertReads(counting, service, query("bulk:00100", all))
                            .locks()
                            .get(0)
                            .name())
                    .isEqualTo("bulk:00101");

            HeldSection named = assertReads(counting, service, query("", all.named("bulk:0777")));
            assertThat(named.locks())
                    .extracting(HeldSection.Lock::name)
                    .hasSize(10)
                    .startsWith("bulk:07770");
            assertThat(named.next()).isNull();

            HeldSection ofNode = assertReads(counting, service, query("", all.heldBy("WORKER-7@")));
            assertThat(ofNode.locks()).hasSize(100);
            assertThat(ofNode.next()).isNotNull();
            assertThat(pages(service, all.heldBy("worker-7@"))).hasSize(1000);
            assertThat(pages(service, all)).hasSize(10_001);

            assertThat(assertReads(counting, service, query("", all.in(LockFilter.State.SHARED)))
                            .locks())
                    .isEmpty();
            assertThat(assertReads(counting, service, query("", all.named("bulk_")))
                            .locks())
                    .isEmpty();

            int before = counting.statements();
            ConsoleState state = ConsoleState.of(service, RecentLosses.empty(), query("", all));
            assertThat(counting.statements() - before).isLessThanOrEqualTo(9);
            assertThat(state.held().locks()).hasSize(ConsoleState.PAGE_SIZE);
            before = counting.statements();
            LockDetails unused = LockDetails.of(service, RecentLosses.empty(), "bulk:05000");
            assertThat(counting.statements() - before).isEqualTo(5);
        }
    }

    /** Their ids and names come before those of the living node and the new run. */
    @Test
    void livingNodesAndNewRunsAreShownBeforeManyOldOnes(Database database) throws Exception {
        emptyTables(database);
        database.execute("""
                insert into lock_node (id, started_at, expires_at, ended, description, version)
                select '!' || n, now() - interval '1 day', now() - interval '1 hour', true, 'ended', 0
                from generate_series(1001, 2500) n
                """, """
                insert into lock_run (name, fencing_token, begun_at, ended_at, status)
                select '!' || n, n, now() - interval '1 day', now() - interval '1 day', 'SUCCEEDED'
                from generate_series(1001, 2500) n
                """, """
                insert into lock_run (name, fencing_token, begun_at, ended_at, status)
                values ('sweep', 1, now(), now(), 'SUCCEEDED')
                """);
        try (HikariDataSource pool = database.pool(config -> {});
                EntityManagerFactory unit = new HibernatePersistenceConfiguration("old")
                        .managedClasses(LockEntity.ENTITIES)
                        .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                        .createEntityManagerFactory();
                LockService service =
                        LockService.builder(unit).withoutHousekeeping().build();
                LockHandle unused = service.acquire(LockRequest.of("kept by a node"))) {
            ConsoleState state = ConsoleState.of(service, RecentLosses.empty(), query("", LockFilter.all()));
            assertThat(state.nodes().entries()).hasSize(ConsoleState.PAGE_SIZE);
            assertThat(state.nodes().entries().get(0).description())
                    .isEqualTo(service.admin().process());
            assertThat(state.nodes().more()).isEqualTo(1501 - ConsoleState.PAGE_SIZE);
            assertThat(state.runs().entries()).hasSize(ConsoleState.PAGE_SIZE);
            assertThat(state.runs().entries().get(0).name()).isEqualTo("sweep");
            assertThat(state.runs().more()).isEqualTo(1501 - ConsoleState.PAGE_SIZE);
        }
    }

    private static void emptyTables(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        database.execute(
                "delete from lock_holder",
                "delete from distributed_lock",
                "delete from lock_node",
                "delete from lock_run");
    }

    private static HeldSection.Query query(String after, LockFilter filter) {
        return new HeldSection.Query("", after, filter);
    }

    private static HeldSection assertReads(CountingDataSource counting, LockService service, HeldSection.Query query) {
        int before = counting.statements();
        HeldSection read = HeldSection.of(service.admin(), query);
        assertThat(counting.statements() - before).as("statements").isEqualTo(1);
        return read;
    }

    private static Set<String> pages(LockService service, LockFilter filter) {
        Set<String> names = new HashSet<>();
        String after = "";
        while (after != null) {
            HeldSection page = HeldSection.of(service.admin(), query(after, filter));
            page.locks()
                    .forEach(lock ->
                            assertThat(names.add(lock.name())).as(lock.name()).isTrue());
            after = page.last();
        }
        return names;
    }

    /** As if the node of that lock held 10,000 others, for ten workers. */
    private static void fill(Database database, LockHandle one) {
        database.execute("""
                insert into distributed_lock (name, owner, node_id, holder, hold_count, fencing_token, acquired_at, version)
                select 'bulk:' || lpad(n::text, 5, '0'), 'owner-' || n, l.node_id, 'worker-' || (n %% 10) || '@host/exec', 1,
                    l.fencing_token, l.acquired_at, 0
                from distributed_lock l, generate_series(1, 10000) n where l.name = '%s'
                """.formatted(one.name()));
    }
}
