package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.store.FaultyDialect;
import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.Stream;
import org.hibernate.exception.GenericJDBCException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.orm.jpa.JpaSystemException;
import org.springframework.transaction.TransactionTimedOutException;

/** The errors that need a cluster, a crash or a full server; {@code ErrorClassificationTest} provokes the others. */
class SqlErrorsTest {

    private static SqlErrors errorsOf(String database) {
        return Stream.of(new PostgresqlLockDialect(), new MysqlLockDialect(), new H2LockDialect())
                .filter(dialect -> dialect.label().equals(database))
                .map(SqlErrors::of)
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @CsvSource(nullValues = "-", textBlock = """
                    # Galera: certification failure, also as a deadlock at the commit
                    MySQL,      HY000, 1180, CONFLICT
                    MySQL,      40001, 1213, DEADLOCK
                    # MySQL group replication: rolled back on certification
                    MySQL,      40000, 3101, CONFLICT
                    # MySQL: a lock wait timeout in the state of a serialization failure
                    MySQL,      40001, 1205, BUSY
                    # Too many connections, shutdown
                    MySQL,      08004, 1040, UNAVAILABLE
                    MySQL,      08S01, 1053, UNAVAILABLE
                    PostgreSQL, 53300, 0,    UNAVAILABLE
                    # PostgreSQL: crash, starting up, dropped, connection failure
                    PostgreSQL, 57P02, 0,    UNAVAILABLE
                    PostgreSQL, 57P03, 0,    UNAVAILABLE
                    PostgreSQL, 57P05, 0,    UNAVAILABLE
                    PostgreSQL, 08006, 0,    UNAVAILABLE
                    PostgreSQL, 57P04, 0,    UNAVAILABLE
                    # PostgreSQL: the session ended, because its transaction was idle for too long, or took too long
                    PostgreSQL, 25P03, 0,    UNAVAILABLE
                    PostgreSQL, 25P04, 0,    UNAVAILABLE
                    # MySQL: killed, offline mode, idle for too long; MariaDB: killed
                    MySQL,      HY000, 3169, UNAVAILABLE
                    MySQL,      HY000, 3032, UNAVAILABLE
                    MySQL,      HY000, 4031, UNAVAILABLE
                    MySQL,      70100, 1927, UNAVAILABLE
                    # MySQL: an error of the network; Galera: the node does not belong to the cluster
                    MySQL,      08S01, 1158, UNAVAILABLE
                    MySQL,      08S01, 1161, UNAVAILABLE
                    MySQL,      08S01, 1047, UNAVAILABLE
                    # ProxySQL: the server behind it has gone, was lost, cannot be reached
                    MySQL,      HY000, 2006, UNAVAILABLE
                    MySQL,      HY000, 2013, UNAVAILABLE
                    MySQL,      HY000, 9001, UNAVAILABLE
                    # MySQL: it cannot write its binary log, and stops
                    MySQL,      HY000, 1598, UNAVAILABLE
                    # H2: closed; an error of its file, which closes it
                    H2,         90007, 90007, UNAVAILABLE
                    H2,         90098, 90098, UNAVAILABLE
                    H2,         90121, 90121, UNAVAILABLE
                    H2,         90067, 90067, UNAVAILABLE
                    H2,         90028, 90028, UNAVAILABLE
                    H2,         90031, 90031, UNAVAILABLE
                    # A pool that has taken a broken connection back
                    PostgreSQL, -, 0,    UNAVAILABLE
                    # H2: its view of the sessions fails when one ends
                    H2,         HY000, 50000, CONFLICT
                    # A standby, or a session that may only read; a server with read_only or innodb_read_only
                    PostgreSQL, 25006, 0,    READ_ONLY
                    MySQL,      HY000, 1290, READ_ONLY
                    MySQL,      25006, 1792, READ_ONLY
                    MySQL,      HY000, 1836, READ_ONLY
                    H2,         90097, 90097, READ_ONLY
                    # MySQL Group Replication: the member has left the group
                    MySQL,      HY000, 3100, READ_ONLY
                    # Disk full, memory full, too many locks, too many transactions
                    PostgreSQL, 53100, 0,    INSUFFICIENT_RESOURCES
                    PostgreSQL, 53200, 0,    INSUFFICIENT_RESOURCES
                    MySQL,      HY000, 1021, INSUFFICIENT_RESOURCES
                    MySQL,      HY000, 1026, INSUFFICIENT_RESOURCES
                    MySQL,      HY000, 1030, INSUFFICIENT_RESOURCES
                    MySQL,      HY001, 1038, INSUFFICIENT_RESOURCES
                    MySQL,      HY000, 1114, INSUFFICIENT_RESOURCES
                    MySQL,      HY000, 1206, INSUFFICIENT_RESOURCES
                    MySQL,      HY000, 1637, INSUFFICIENT_RESOURCES
                    # Another illegal argument of MySQL's driver, something unheard of
                    MySQL,      S1009, 0,    REFUSED
                    PostgreSQL, XX000, 99999, REFUSED
                    """)
    void codeOfTheDatabaseTellsTheFailure(String database, String state, int code, Failure failure) {
        assertThat(errorsOf(database).ofStatement(new SQLException("reason", state, code)))
                .isEqualTo(failure);
    }

    @Test
    void classTellsTheFailureWhereThereIsNoCode() {
        assertThat(errorsOf("PostgreSQL").ofStatement(new SQLTimeoutException("MySQL")))
                .isEqualTo(Failure.BUSY);
        assertThat(errorsOf("PostgreSQL")
                        .ofStatement(new SQLTransientConnectionException("Hikari", new SQLException("down"))))
                .isEqualTo(Failure.UNAVAILABLE);
        assertThat(errorsOf("PostgreSQL").ofStatement(new SQLNonTransientConnectionException()))
                .isEqualTo(Failure.UNAVAILABLE);
        assertThat(errorsOf("PostgreSQL").ofStatement(new SQLRecoverableException()))
                .isEqualTo(Failure.UNAVAILABLE);
        assertThat(errorsOf("PostgreSQL").ofStatement(new TransactionTimedOutException("Spring")))
                .isEqualTo(Failure.BUSY);
    }

    @Test
    void errorIsFoundAmongTheCauses() {
        SQLException deadlock = new BatchUpdateException("reason", "40P01", 0, new int[0]);
        RuntimeException wrapped =
                new IllegalStateException(new JpaSystemException(new GenericJDBCException("message", deadlock)));

        assertThat(SqlErrors.isFromDatabase(wrapped)).isTrue();
        assertThat(errorsOf("PostgreSQL").ofStatement(wrapped)).isEqualTo(Failure.DEADLOCK);
        assertThat(SqlErrors.isFromDatabase(new IllegalStateException(new RuntimeException("ours"))))
                .isFalse();
    }

    /** Only a conflict is an answer that says that nothing was committed. */
    @ParameterizedTest
    @CsvSource({
        "PostgreSQL, 40001, 0, CONFLICT",
        "PostgreSQL, 40P01, 0, CONFLICT",
        "MySQL, HY000, 1020, CONFLICT",
        "MySQL, 40001, 1213, CONFLICT",
        "MySQL, HY000, 1180, UNKNOWN",
        "MySQL, HY000, 3100, UNKNOWN",
        "MySQL, 40000, 3101, UNKNOWN",
        "MySQL, HY000, 1598, UNKNOWN",
        "MySQL, HY000, 1290, UNKNOWN",
        "PostgreSQL, 08006, 0, UNKNOWN",
        "PostgreSQL, 57014, 0, UNKNOWN",
        "MySQL, HY000, 1205, UNKNOWN",
        "PostgreSQL, XX000, 0, UNKNOWN"
    })
    void commitThatFailedIsUnknownUnlessTheDatabaseRolledBack(
            String database, String state, int code, Failure failure) {
        assertThat(errorsOf(database).ofCommit(new SQLException("reason", state, code)))
                .isEqualTo(failure);
    }

    /**
     * What a connection that is gone says tells nothing of the statement. A member that leaves its group ends with 3100 and 3101
     * what the others may have received before. An error of the binary log or of H2's file may occur at the commit.
     */
    @ParameterizedTest
    @CsvSource({
        "PostgreSQL, 25006, 0, READ_ONLY",
        "MySQL, HY000, 1290, READ_ONLY",
        "MySQL, 25006, 1792, READ_ONLY",
        "MySQL, HY000, 1836, READ_ONLY",
        "PostgreSQL, 53100, 0, INSUFFICIENT_RESOURCES",
        "MySQL, 40001, 1213, DEADLOCK",
        "MySQL, HY000, 3100, UNKNOWN",
        "MySQL, 40000, 3101, UNKNOWN",
        "MySQL, HY000, 1598, UNKNOWN",
        "MySQL, HY000, 1026, UNKNOWN",
        "MySQL, HY000, 1030, INSUFFICIENT_RESOURCES",
        "MySQL, HY000, 1637, INSUFFICIENT_RESOURCES",
        "H2, 90028, 90028, UNKNOWN",
        "H2, 90031, 90031, UNKNOWN",
        "H2, 90097, 90097, READ_ONLY",
        "PostgreSQL, 25P03, 0, UNKNOWN",
        "PostgreSQL, 25P04, 0, UNKNOWN",
        "MySQL, HY000, 2006, UNKNOWN",
        "MySQL, HY000, 2013, UNKNOWN"
    })
    void statementThatCommitsByItselfIsNotDoneIfTheServerSaysSo(
            String database, String state, int code, Failure failure) {
        assertThat(errorsOf(database).ofAutocommit(new SQLException("reason", state, code)))
                .isEqualTo(failure);
    }

    /** It sends nothing. */
    @Test
    void driverOfMySqlThatFailedOverToAReplicaOnlyReads() {
        SQLException refused = new SQLException(
                "Connection is read-only. Queries leading to data modification are not allowed.", "S1009");
        assertThat(errorsOf("MySQL").ofStatement(refused)).isEqualTo(Failure.READ_ONLY);
        assertThat(errorsOf("MySQL").ofAutocommit(refused)).isEqualTo(Failure.READ_ONLY);
    }

    /** Version 8.0.33 of MySQL's driver says nothing else when the server has ended the session of a statement. */
    @Test
    void statementThatTheDriverOfMySqlHasClosedMayHaveWritten() {
        SQLException closed = new SQLException("No operations allowed after statement closed.", "S1009");
        assertThat(errorsOf("MySQL").ofStatement(closed)).isEqualTo(Failure.UNAVAILABLE);
        assertThat(errorsOf("MySQL").ofAutocommit(closed)).isEqualTo(Failure.UNKNOWN);
    }

    @Test
    void commitThatFailedWithoutTheDatabaseIsUnknown() {
        assertThat(errorsOf("PostgreSQL").ofCommit(new IllegalStateException("a synchronization")))
                .isEqualTo(Failure.UNKNOWN);
    }

    @Test
    void onlyAnUnknownOutcomeIsAmbiguous() {
        for (Failure failure : Failure.values()) {
            assertThat(failure.isAmbiguous()).isEqualTo(failure == Failure.UNKNOWN);
            assertThat(failure.isTransient()).isEqualTo(failure != Failure.TABLE_MISSING && failure != Failure.REFUSED);
        }
    }

    /** HikariCP's exception has the SQLState of why it could open no connection, if it could open none. */
    @Test
    void onlyAPoolThatCouldHaveOpenedAnotherConnectionIsExhausted() {
        SQLException waited = new SQLTransientConnectionException("Connection is not available, request timed out");
        assertThat(SqlErrors.ofBegin(waited)).isEqualTo(Failure.EXHAUSTED);
        assertThat(errorsOf("PostgreSQL").ofStatement(waited)).isEqualTo(Failure.EXHAUSTED);

        SQLException full = new SQLException("too many clients", "53300");
        for (SQLException unavailable : List.of(
                full,
                new SQLTransientConnectionException("Connection is not available", "53300", full),
                new SQLTransientConnectionException(
                        "Connection is not available", new IllegalStateException("no driver")),
                new SQLException("Interrupted", new InterruptedException()),
                new SQLException("Cannot get a connection", unvalidated()))) {
            assertThat(SqlErrors.ofBegin(unavailable))
                    .as(unavailable.toString())
                    .isEqualTo(Failure.UNAVAILABLE);
            assertThat(errorsOf("PostgreSQL").ofStatement(unavailable))
                    .as(unavailable.toString())
                    .isEqualTo(Failure.UNAVAILABLE);
        }
        assertThat(SqlErrors.ofBegin(new IllegalStateException("not even an SQLException")))
                .isEqualTo(Failure.UNAVAILABLE);
    }

    /** What Commons DBCP throws when a connection that it has just opened does not work. */
    private static NoSuchElementException unvalidated() {
        return new NoSuchElementException("Unable to validate object", new SQLException("gone", "08006"));
    }

    /** Nothing that a dialect of somebody else does may hide that a write is in doubt. */
    @Test
    void dialectThatFailsLeavesTheStandardsMeaningAndCommitsInDoubt() {
        SqlErrors errors = SqlErrors.of(new FaultyDialect());
        SQLException withoutState = new SQLException("reason");
        SQLException conflict = new SQLException("reason", "40001", 1);

        assertThat(errors.ofStatement(withoutState)).isEqualTo(Failure.UNAVAILABLE);
        assertThat(errors.ofStatement(conflict)).isEqualTo(Failure.CONFLICT);
        assertThat(errors.ofCommit(conflict)).isEqualTo(Failure.UNKNOWN);
        assertThat(errors.ofAutocommit(conflict)).isEqualTo(Failure.UNKNOWN);
    }
}
