package io.github.holdfast.test.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class FaultyDataSourceTest {

    abstract static class FaultContract {

        private final Database database;
        private final FaultyDataSource faulty;

        FaultContract(Database database) {
            this.database = database;
            this.faulty = new FaultyDataSource(database.dataSource());
        }

        @BeforeEach
        void emptyTable() {
            database.execute("create table if not exists t (id int)", "delete from t");
        }

        @Test
        void withoutFaultOnlyCounts() throws SQLException {
            faulty.arm(Integer.MAX_VALUE, Fault.BEFORE_SEND);
            insertTwice();
            assertThat(faulty.steps()).isEqualTo(3);
            assertThat(faulty.fired()).isFalse();
            assertThat(rows()).isEqualTo(2);
        }

        @ParameterizedTest
        @EnumSource(Fault.class)
        void disarmedFaultDoesNotHappen(Fault fault) throws SQLException {
            faulty.arm(2, fault);
            faulty.disarm();
            insertTwice();
            assertThat(faulty.fired()).isFalse();
        }

        @ParameterizedTest
        @EnumSource(Fault.class)
        void statementOfATransactionIsRolledBack(Fault fault) {
            faulty.arm(2, fault);
            assertThatThrownBy(this::insertTwice).satisfies(FaultContract::isBroken);
            assertThat(faulty.fired()).isTrue();
            assertThat(faulty.firedAtCommit()).isFalse();
            assertThat(faulty.steps()).isEqualTo(2);
            assertThat(rows()).isZero();
        }

        @ParameterizedTest
        @EnumSource(Fault.class)
        void faultHappensOnce(Fault fault) throws SQLException {
            faulty.arm(1, fault);
            assertThatThrownBy(this::insertTwice).satisfies(FaultContract::isBroken);
            insertTwice();
            assertThat(rows()).isEqualTo(2);
        }

        @Test
        void statementBeforeSendIsNotExecuted() throws SQLException {
            try (Connection connection = faulty.getConnection()) {
                faulty.arm(1, Fault.BEFORE_SEND);
                assertThatThrownBy(() -> insert(connection)).satisfies(FaultContract::isBroken);
                assertThat(rows()).isZero();
                staysBroken(connection);
            }
        }

        @Test
        void answerOfAnAutocommittedStatementIsLost() throws SQLException {
            try (Connection connection = faulty.getConnection()) {
                faulty.arm(1, Fault.ANSWER_LOST);
                assertThatThrownBy(() -> insert(connection)).satisfies(FaultContract::isBroken);
                assertThat(rows()).isEqualTo(1);
                staysBroken(connection);
            }
        }

        @Test
        void answerArrivesButNothingElseIsSent() throws SQLException {
            try (Connection connection = faulty.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection);
                faulty.arm(1, Fault.AFTER_SEND);
                try (Statement statement = connection.createStatement();
                        ResultSet rows = statement.executeQuery("select count(*) from t")) {
                    assertThat(rows.next()).isTrue();
                    assertThat(rows.getInt(1)).isEqualTo(1);
                }
                assertThatThrownBy(connection::commit).satisfies(FaultContract::isBroken);
                assertThat(rows()).isZero();
                staysBroken(connection);
            }
        }

        @Test
        void commitBeforeSendRollsBack() {
            faulty.arm(3, Fault.BEFORE_SEND);
            assertThat(faulty.firedAtCommit()).isFalse();
            assertThatThrownBy(this::insertTwice).satisfies(FaultContract::isBroken);
            assertThat(faulty.firedAtCommit()).isTrue();
            assertThat(rows()).isZero();
        }

        @ParameterizedTest
        @EnumSource(names = {"AFTER_SEND", "ANSWER_LOST"})
        void commitWithoutAnswerCommits(Fault fault) {
            faulty.arm(3, fault);
            assertThatThrownBy(this::insertTwice).satisfies(FaultContract::isBroken);
            assertThat(rows()).isEqualTo(2);
        }

        @Test
        void delayedCommitLandsLater() throws SQLException {
            faulty.arm(3, Fault.DELAYED);
            assertThatThrownBy(this::insertTwice).satisfies(FaultContract::isBroken);
            assertThat(rows()).isZero();
            faulty.land();
            assertThat(rows()).isEqualTo(2);
            assertThatThrownBy(faulty::land).isInstanceOf(IllegalStateException.class);
        }

        @Test
        void delayedCommitSinks() throws SQLException {
            faulty.arm(3, Fault.DELAYED);
            assertThatThrownBy(this::insertTwice).satisfies(FaultContract::isBroken);
            faulty.sink();
            assertThat(rows()).isZero();
            assertThatThrownBy(faulty::sink).isInstanceOf(IllegalStateException.class);
        }

        @Test
        void refusedStatementAlsoLosesItsAnswer() throws SQLException {
            try (Connection connection = faulty.getConnection();
                    Statement statement = connection.createStatement()) {
                faulty.arm(1, Fault.ANSWER_LOST);
                assertThatThrownBy(() -> statement.execute("select from nowhere"))
                        .satisfies(FaultContract::isBroken)
                        .hasCauseInstanceOf(SQLException.class);
            }
        }

        @Test
        void outageBreaksConnectionsAndRefusesNewOnes() throws SQLException {
            try (Connection connection = faulty.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection);
                faulty.down();
                staysBroken(connection);
                assertThatThrownBy(faulty::getConnection)
                        .isInstanceOf(SQLTransientConnectionException.class)
                        .extracting(e -> ((SQLException) e).getSQLState())
                        .isEqualTo("08001");
                faulty.up();
                staysBroken(connection);
            }
            insertTwice();
            assertThat(rows()).isEqualTo(2);
        }

        @Test
        void outageBreaksAConnectionInUse() throws Exception {
            try (Connection holder = database.dataSource().getConnection();
                    Connection waiter = faulty.getConnection()) {
                insert(holder);
                holder.setAutoCommit(false);
                waiter.setAutoCommit(false);
                update(holder);
                CompletableFuture<Throwable> failure =
                        CompletableFuture.runAsync(() -> waitForRow(waiter)).handle((none, e) -> e.getCause());
                awaitStep();
                faulty.down();
                holder.rollback();
                assertThat(failure.get(60, TimeUnit.SECONDS)).hasCauseInstanceOf(SQLException.class);
                staysBroken(waiter);
            }
            assertThat(rows()).isEqualTo(1);
            assertThat(database.queryForLong("select id from t")).isZero();
        }

        @Test
        void poolReplacesABrokenConnection() throws SQLException {
            try (HikariDataSource pool = database.pool(config -> {
                config.setDataSource(faulty);
                config.setMaximumPoolSize(1);
            })) {
                faulty.arm(1, Fault.BEFORE_SEND);
                try (Connection connection = pool.getConnection()) {
                    assertThatThrownBy(() -> insert(connection)).satisfies(FaultContract::isBroken);
                }
                try (Connection connection = pool.getConnection()) {
                    insert(connection);
                }
            }
            assertThat(rows()).isEqualTo(1);
        }

        private void awaitStep() {
            while (faulty.steps() == 0) {
                Thread.onSpinWait();
            }
        }

        private void insertTwice() throws SQLException {
            try (Connection connection = faulty.getConnection()) {
                connection.setAutoCommit(false);
                insert(connection);
                insert(connection);
                connection.commit();
            }
        }

        private long rows() {
            return database.queryForLong("select count(*) from t");
        }

        private static void insert(Connection connection) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute("insert into t values (0)");
            }
        }

        private static void update(Connection connection) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute("update t set id = id + 1");
            }
        }

        private static void waitForRow(Connection connection) {
            try {
                update(connection);
                connection.commit();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }

        private static void staysBroken(Connection connection) throws SQLException {
            assertThat(connection.isValid(1)).isFalse();
            assertThat(connection.isClosed()).isTrue();
            connection.rollback();
            assertThatThrownBy(connection::createStatement).satisfies(FaultContract::isBroken);
            assertThatThrownBy(connection::commit).satisfies(FaultContract::isBroken);
        }

        private static void isBroken(Throwable e) {
            assertThat(e).isInstanceOf(SQLNonTransientConnectionException.class);
            assertThat(((SQLException) e).getSQLState()).isEqualTo("08006");
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2 extends FaultContract {
        OnH2(Database database) {
            super(database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgresql extends FaultContract {
        OnPostgresql(Database database) {
            super(database);
        }
    }
}
