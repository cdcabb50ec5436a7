package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.PersistenceUnit;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.util.Map;
import java.util.Objects;
import javax.sql.DataSource;
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
