package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.rows.LockSnapshot;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** H2 can imitate other databases, which changes how it reads names and what its clock says. */
class H2ModeTest {

    private static final Duration LEASE = Duration.ofSeconds(30);

    @ParameterizedTest
    @ValueSource(
            strings = {
                "MODE=REGULAR",
                "MODE=STRICT",
                "MODE=LEGACY",
                "MODE=PostgreSQL",
                "MODE=PostgreSQL;DATABASE_TO_LOWER=TRUE;DEFAULT_NULL_ORDERING=HIGH",
                "MODE=MySQL",
                "MODE=MySQL;DATABASE_TO_LOWER=TRUE",
                "MODE=MariaDB",
                "MODE=Oracle",
                "DATABASE_TO_UPPER=FALSE",
                "CASE_INSENSITIVE_IDENTIFIERS=TRUE",
                "TIME ZONE=America/New_York"
            })
    void lockWorksInEveryMode(String settings) {
        JdbcDataSource dataSource = new JdbcDataSource();
        dataSource.setURL("jdbc:h2:mem:mode " + settings.hashCode() + ";DB_CLOSE_DELAY=-1;" + settings);
        LockSchema.on(dataSource).createIfMissing();
        try (EntityManagerFactory unit = PersistenceUnit.directlyOn(dataSource, Map.of())) {
            LockStore store = LockStore.open(unit);
            store.inTransaction(LEASE, locks -> locks.createIfMissing("job"));
            LockSnapshot granted = store.inTransaction(LEASE, locks -> {
                LockSnapshot seen = locks.read("job").orElseThrow();
                await().until(() -> Instant.now().isAfter(seen.dbNow().plusMillis(50)));
                assertThat(locks.grant(seen.row(), seen.row().granted("me", null, null), LEASE, null))
                        .isTrue();
                assertThat(locks.read("job").orElseThrow().row().acquiredAt())
                        .isAfterOrEqualTo(seen.dbNow().plusMillis(50));
                return locks.read("job").orElseThrow();
            });

            assertThat(granted.dbNow()).isBetween(Instant.now().minusSeconds(10), Instant.now());
            assertThat(Duration.between(
                            granted.row().acquiredAt(), granted.row().expiresAt()))
                    .isEqualTo(LEASE);
            assertThat(granted.availability("other", null, Duration.ZERO)).isEqualTo(LockAvailability.HELD_BY_OTHER);
        }
    }
}
