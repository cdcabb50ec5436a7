package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;

/**
 * A data source that chooses a database by what the thread says, as for tenants: a service's node is in one of them, and a lock in
 * another one would look as if its holder were dead.
 */
@OnEachDatabase
class RoutedDataSourceTest {

    private static final LockRequest REQUEST = LockRequest.of("order").waitAtMost(ofSeconds(15));

    private static final ThreadLocal<@Nullable String> TENANT = new ThreadLocal<>();

    private Database other;
    private Services services;
    private LockService first;
    private LockService second;

    @BeforeEach
    void open(Database database) {
        other = Database.create(database.kind());
        LockSchema.on(other.dataSource()).createIfMissing();
        services = Services.on(database);
        first = service(database);
        second = service(database);
    }

    @AfterEach
    void close() throws Exception {
        TENANT.remove();
        services.close();
        other.close();
    }

    private LockService service(Database database) {
        AbstractRoutingDataSource routing = new AbstractRoutingDataSource() {
            @Override
            protected @Nullable Object determineCurrentLookupKey() {
                return TENANT.get();
            }
        };
        DataSource usual = services.opened(database.pool(pool -> pool.setMaximumPoolSize(3)));
        routing.setDefaultTargetDataSource(usual);
        routing.setTargetDataSources(Map.of("other", services.opened(other.pool(pool -> pool.setMaximumPoolSize(3)))));
        routing.afterPropertiesSet();
        return services.build(
                routing, builder -> builder.nodeLease(ofSeconds(3)).withoutHousekeeping());
    }

    @Test
    void aLockOfANodeThatIsInAnotherDatabaseIsRefused() throws Exception {
        first.acquire(REQUEST).close();
        second.acquire(REQUEST).close();
        TENANT.set("other");
        for (LockService service : new LockService[] {first, second}) {
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> service.acquire(REQUEST))
                    .withMessageContaining("'order'")
                    .withMessageContaining("one LockService for each database");
        }
        assertThat(other.queryForLong("select count(*) from distributed_lock where owner is not null"))
                .isZero();
        TENANT.remove();
        first.acquire(REQUEST).close();
    }

    @Test
    void aNodeThatWasRegisteredInAnotherDatabaseIsLostAtItsFirstBeat() throws Exception {
        TENANT.set("other");
        AtomicReference<@Nullable LockLost> told = new AtomicReference<>();
        LockHandle lock = first.acquire(REQUEST);
        lock.onLost(told::set);
        await().atMost(ofSeconds(60)).until(() -> told.get() != null);
        assertThat(lock.state()).isEqualTo(LockState.LOST);
    }
}
