package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.annotations.TenantId;
import org.hibernate.context.spi.CurrentTenantIdentifierResolver;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Lock operations never touch what the calling thread has open. */
@OnEachDatabase
class CallersContextTest {

    private static final LockRequest REQUEST = LockRequest.of("context").lease(ofSeconds(60));

    /** As open-in-view does for a web request, before any transaction begins. */
    @Test
    void anEntityManagerThatIsBoundWithoutATransactionIsLeftAlone(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            HikariDataSource pool = database.pool(config -> {});
            EntityManagerFactory unit = services.unit(pool);
            LockService others = services.open();
            try (LockService locks = LockService.builder(unit).build();
                    EntityManager inView = unit.createEntityManager()) {
                others.acquire(REQUEST).close();
                LockEntity seen = inView.find(LockEntity.class, "context");
                TransactionSynchronizationManager.bindResource(unit, new EntityManagerHolder(inView));
                try {
                    LockHandle held = others.acquire(REQUEST);
                    assertThat(locks.tryAcquire(REQUEST)).isEmpty();
                    assertThat(locks.find("context")).isPresent();
                    held.close();
                    assertThat(locks.find("context")).isEmpty();
                    locks.tryAcquire(REQUEST).orElseThrow().close();
                    assertThat(inView.contains(seen)).isTrue();
                    assertThat(inView.getTransaction().isActive()).isFalse();
                } finally {
                    TransactionSynchronizationManager.unbindResource(unit);
                }
            }
        }
    }

    /** Otherwise heartbeats would fail, and each lock would be lost with its node's lease. */
    @Test
    void aTenantThatOnlyTheStartingThreadHasIsRefused(Database database) throws Exception {
        InheritableThreadLocal<String> tenant = new InheritableThreadLocal<>();
        tenant.set("one");
        try (Services services = Services.on(database)) {
            for (Supplier<String> resolved :
                    List.<Supplier<String>>of(tenant::get, () -> Objects.requireNonNull(tenant.get(), "no request"))) {
                EntityManagerFactory unit = services.opened(tenants(database, resolved));
                assertThatIllegalStateException()
                        .isThrownBy(() -> LockService.builder(unit).build())
                        .withMessageContaining(Tenants.class.getName())
                        .withMessageContaining("tenant");
            }
            EntityManagerFactory unit =
                    services.opened(tenants(database, () -> Objects.requireNonNullElse(tenant.get(), "none")));
            LockService locks = services.build(unit, builder -> builder.nodeLease(ofSeconds(1)));
            LockHandle lock = locks.acquire(LockRequest.of("of a tenant"));
            long beats = beats(database);
            await().atMost(ofSeconds(60)).until(() -> beats(database) > beats);
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    private static long beats(Database database) {
        return database.queryForLong("select max(version) from lock_node where ended = false");
    }

    private static EntityManagerFactory tenants(Database database, Supplier<String> resolved) {
        return PersistenceUnit.of(
                database.pool(pool -> {}),
                Map.of("hibernate.tenant_identifier_resolver", new Tenants(resolved)),
                Stream.concat(LockEntity.ENTITIES.stream(), Stream.of(OfTenant.class))
                        .toArray(Class<?>[]::new));
    }

    /** An application's entity with a tenant in a column. */
    @Entity(name = "OfTenant")
    static class OfTenant {
        @Id
        long id;

        @TenantId
        String tenant;
    }

    private record Tenants(Supplier<String> resolved) implements CurrentTenantIdentifierResolver<String> {
        @Override
        public String resolveCurrentTenantIdentifier() {
            return resolved.get();
        }

        @Override
        public boolean validateExistingCurrentSessions() {
            return false;
        }
    }

    @Test
    void theCallersTransactionNeitherCommitsNorRollsBackALockNorALockIt(Database database) throws Exception {
        database.execute("create table written (n int not null)");
        try (Services services = Services.on(database)) {
            EntityManagerFactory unit = services.unit(database.pool(config -> {}));
            LockService others = services.open();
            TransactionTemplate transaction = new TransactionTemplate(new JpaTransactionManager(unit));
            try (LockService locks = LockService.builder(unit)
                    .transactionManager(new JpaTransactionManager(unit))
                    .build()) {
                LockHandle lock = transaction.execute(status -> {
                    Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit))
                            .createNativeQuery("insert into written values (1)")
                            .executeUpdate();
                    LockHandle acquired = locks.tryAcquire(REQUEST).orElseThrow();
                    status.setRollbackOnly();
                    return acquired;
                });
                assertThat(database.queryForLong("select count(*) from written"))
                        .isZero();
                assertThat(others.tryAcquire(REQUEST)).isEmpty();
                assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
            }
        }
    }

    @Test
    void aDataSourceThatHandsOutTheCallersConnectionIsRefused(Database database) throws Exception {
        DataSource callers = new TransactionAwareDataSourceProxy(database.dataSource());
        try (EntityManagerFactory unit = PersistenceUnit.directlyOn(callers, Map.of())) {
            assertThatThrownBy(() -> LockService.builder(unit).build())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("TransactionAwareDataSourceProxy");
        }
    }
}
