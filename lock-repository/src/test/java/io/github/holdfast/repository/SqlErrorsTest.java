package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.repository.StoreException.Failure;
import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import org.hibernate.exception.GenericJDBCException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.orm.jpa.JpaSystemException;
import org.springframework.transaction.TransactionTimedOutException;

/** The errors that need a cluster, a crash or a full server; {@link ErrorClassificationContract} provokes the others. */
class SqlErrorsTest {

    @ParameterizedTest
    @CsvSource(nullValues = "-", textBlock = """
                    # Galera: certification failure, also as a deadlock at the commit
                    HY000, 1180, CONFLICT
                    40001, 1213, CONFLICT
                    # MySQL group replication: rolled back on certification
                    40000, 3101, CONFLICT
                    # MySQL: a lock wait timeout in the state of a serialization failure
                    40001, 1205, BUSY
                    # Too many connections, shutdown
                    08004, 1040, UNAVAILABLE
                    08S01, 1053, UNAVAILABLE
                    53300, 0,    UNAVAILABLE
                    # PostgreSQL: crash, starting up, dropped, connection failure
                    57P02, 0,    UNAVAILABLE
                    57P03, 0,    UNAVAILABLE
                    57P05, 0,    UNAVAILABLE
                    08006, 0,    UNAVAILABLE
                    # MariaDB: killed; H2: closed
                    70100, 1927, UNAVAILABLE
                    90098, 90098, UNAVAILABLE
                    90121, 90121, UNAVAILABLE
                    90067, 90067, UNAVAILABLE
                    # Disk full, read-only transaction, something unheard of, nothing at all
                    53100, 0,    REFUSED
                    25006, 0,    REFUSED
                    XX000, 99999, REFUSED
                    -,     0,    REFUSED
                    """)
    void codeOfTheDatabaseTellsTheFailure(String state, int code, Failure failure) {
        assertThat(SqlErrors.ofStatement(new SQLException("reason", state, code)))
                .isEqualTo(failure);
    }

    @Test
    void classTellsTheFailureWhereThereIsNoCode() {
        assertThat(SqlErrors.ofStatement(new SQLTimeoutException("MySQL"))).isEqualTo(Failure.BUSY);
        assertThat(SqlErrors.ofStatement(new SQLTransientConnectionException("Hikari")))
                .isEqualTo(Failure.UNAVAILABLE);
        assertThat(SqlErrors.ofStatement(new SQLNonTransientConnectionException()))
                .isEqualTo(Failure.UNAVAILABLE);
        assertThat(SqlErrors.ofStatement(new SQLRecoverableException())).isEqualTo(Failure.UNAVAILABLE);
        assertThat(SqlErrors.ofStatement(new TransactionTimedOutException("Spring")))
                .isEqualTo(Failure.BUSY);
    }

    @Test
    void errorIsFoundAmongTheCauses() {
        SQLException deadlock = new BatchUpdateException("reason", "40P01", 0, new int[0]);
        RuntimeException wrapped =
                new IllegalStateException(new JpaSystemException(new GenericJDBCException("message", deadlock)));

        assertThat(SqlErrors.isFromDatabase(wrapped)).isTrue();
        assertThat(SqlErrors.ofStatement(wrapped)).isEqualTo(Failure.CONFLICT);
        assertThat(SqlErrors.isFromDatabase(new IllegalStateException(new RuntimeException("ours"))))
                .isFalse();
    }

    /** Only a conflict is an answer that says that nothing was committed. */
    @ParameterizedTest
    @CsvSource({
        "40001, 0, CONFLICT",
        "40P01, 0, CONFLICT",
        "HY000, 1020, CONFLICT",
        "40001, 1213, CONFLICT",
        "HY000, 1180, UNKNOWN",
        "08006, 0, UNKNOWN",
        "57014, 0, UNKNOWN",
        "HY000, 1205, UNKNOWN",
        "XX000, 0, UNKNOWN"
    })
    void commitThatFailedIsUnknownUnlessTheDatabaseRolledBack(String state, int code, Failure failure) {
        assertThat(SqlErrors.ofCommit(new SQLException("reason", state, code))).isEqualTo(failure);
    }

    @Test
    void commitThatFailedWithoutTheDatabaseIsUnknown() {
        assertThat(SqlErrors.ofCommit(new IllegalStateException("a synchronization")))
                .isEqualTo(Failure.UNKNOWN);
    }

    @Test
    void onlyAnUnknownOutcomeIsAmbiguous() {
        for (Failure failure : Failure.values()) {
            assertThat(failure.isAmbiguous()).isEqualTo(failure == Failure.UNKNOWN);
            assertThat(failure.isTransient()).isEqualTo(failure != Failure.TABLE_MISSING && failure != Failure.REFUSED);
        }
    }
}
