package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.repository.store.FaultyDialect;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.hibernate.dialect.CockroachDialect;
import org.hibernate.dialect.H2Dialect;
import org.hibernate.dialect.MariaDBDialect;
import org.hibernate.dialect.MySQLDialect;
import org.hibernate.dialect.OracleDialect;
import org.hibernate.dialect.PostgreSQLDialect;
import org.junit.jupiter.api.Test;

/** Which dialect belongs to which database. */
class KnownDialectsTest {

    @Test
    void eachDatabaseHasItsOwn() {
        assertThat(KnownDialects.of(new PostgreSQLDialect())).containsInstanceOf(PostgresqlLockDialect.class);
        assertThat(KnownDialects.of(new MySQLDialect())).containsInstanceOf(MysqlLockDialect.class);
        assertThat(KnownDialects.of(new MariaDBDialect())).containsInstanceOf(MariaDbLockDialect.class);
        assertThat(KnownDialects.of(new H2Dialect())).containsInstanceOf(H2LockDialect.class);
        assertThat(KnownDialects.of(new OracleDialect())).isEmpty();
        assertThat(KnownDialects.of(new CockroachDialect())).isEmpty();
        assertThat(KnownDialects.labels()).isEqualTo("PostgreSQL, MySQL, MariaDB and H2");
    }

    /** Persistence units without locks ask too, whatever their database. */
    @Test
    void dialectThatCannotBeCreatedIsLeftOut() {
        ServiceLoader.Provider<LockDialect> broken = new ServiceLoader.Provider<>() {
            @Override
            public Class<? extends LockDialect> type() {
                return FaultyDialect.class;
            }

            @Override
            public LockDialect get() {
                throw new ServiceConfigurationError("a class is missing");
            }
        };

        assertThat(KnownDialects.created(broken)).isEmpty();
    }
}
