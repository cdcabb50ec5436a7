package example.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.TimeZone;
import javax.sql.DataSource;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** What the contract does not try. */
class DerbyLockDialectTest {

    private final DataSource dataSource = new DriverManagerDataSource("jdbc:derby:memory:dialect;create=true");
    private final TimeZone zone = TimeZone.getDefault();

    @AfterEach
    void resetZone() {
        TimeZone.setDefault(zone);
    }

    private EntityManagerFactory unit() {
        return new HibernatePersistenceConfiguration("derby")
                .mappingFile("META-INF/holdfast-orm.xml")
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, dataSource)
                .property(AvailableSettings.DIALECT, RowLockingDerbyDialect.class.getName())
                .createEntityManagerFactory();
    }

    @Test
    void housekeepingTakesALockWhoseNodeIsGone() throws InterruptedException {
        LockSchema.on(dataSource).createIfMissing();
        try (EntityManagerFactory unit = unit();
                LockService locks =
                        LockService.builder(unit).withoutHousekeeping().build()) {
            LockHandle lease = locks.tryAcquire(LockRequest.of("leased").lease(Duration.ofMinutes(1)))
                    .orElseThrow();
            unit.runInTransaction(em -> em.createQuery(
                            "update HoldfastLock set nodeId = 'gone', expiresAt = null where name = 'leased'")
                    .executeUpdate());

            locks.admin().housekeep();

            assertThat(locks.find("leased")).isEmpty();
            assertThat(lease.fencingToken()).isPositive();
        }
    }

    @Test
    void serviceDoesNotStartIfAStatementWouldWaitForAMinute() throws SQLException {
        try (Connection connection = dataSource.getConnection();
                CallableStatement set = connection.prepareCall(
                        "call syscs_util.syscs_set_database_property('derby.locks.waitTimeout', ?)")) {
            set.setString(1, "60");
            set.execute();
            assertThatIllegalStateException()
                    .isThrownBy(() -> new DerbyLockDialect().check(connection))
                    .withMessageContaining("60 seconds")
                    .withMessageContaining("-Dderby.locks.waitTimeout=5");
            set.setString(1, null);
            set.execute();
        }
    }

    @Test
    void tablesAreCreatedForAUserWithoutASchema() {
        DataSource asUser = new DriverManagerDataSource("jdbc:derby:memory:user;create=true", "sa", "");

        assertThat(LockSchema.on(asUser).createIfMissing()).hasSize(6);
        assertThat(LockSchema.on(asUser).createIfMissing()).isEmpty();
    }

    @Test
    void serviceDoesNotStartInATimeZoneWhoseClockJumps() throws SQLException {
        TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"));
        try (Connection connection = dataSource.getConnection()) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> new DerbyLockDialect().check(connection))
                    .withMessageContaining("Europe/Berlin")
                    .withMessageContaining("-Duser.timezone=UTC");
        }
    }
}
