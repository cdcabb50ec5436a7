package io.github.holdfast.test.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@OnDatabase(TestDatabase.H2_MEMORY)
class CountingDataSourceTest {

    private final Database database;
    private final CountingDataSource counting;

    CountingDataSourceTest(Database database) {
        this.database = database;
        counting = new CountingDataSource(database.dataSource());
        database.execute("create table if not exists counted (id int)");
    }

    @BeforeEach
    void nothingIsCountedAtFirst() {
        assertThat(counting.connections()).isZero();
        assertThat(counting.statements()).isZero();
    }

    @Test
    void theLoginTimeoutOfAPoolIsNotThatOfOthers() throws SQLException {
        int before = database.dataSource().getLoginTimeout();
        try (HikariDataSource pool = new HikariDataSource()) {
            pool.setDataSource(counting);
            pool.setConnectionTimeout(17_000);
            pool.getConnection().close();
        }
        assertThat(counting.getLoginTimeout()).isEqualTo(17);
        assertThat(database.dataSource().getLoginTimeout()).isEqualTo(before);
    }

    @Test
    void countsATransaction() throws SQLException {
        try (Connection connection = counting.getConnection()) {
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("insert into counted values (?)")) {
                insert.setInt(1, 1);
                assertThat(insert.executeUpdate()).isEqualTo(1);
                insert.setInt(1, 2);
                insert.addBatch();
                insert.executeBatch();
                assertThat(insert.getConnection()).isSameAs(connection);
            }
            connection.commit();
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("select count(*) from counted")) {
                assertThat(rows.next()).isTrue();
                assertThat(rows.getInt(1)).isEqualTo(2);
            }
            connection.rollback();
        }

        assertThat(counting.statements()).isEqualTo(3);
        assertThat(counting.sql())
                .containsExactly(
                        "insert into counted values (?)",
                        "insert into counted values (?)",
                        "select count(*) from counted");
        assertThat(counting.commits()).isEqualTo(1);
        assertThat(counting.rollbacks()).isEqualTo(1);
        assertThat(counting.connections()).isEqualTo(1);
        assertThat(counting.autoCommitSwitches()).isEqualTo(1);

        counting.reset();
        assertThat(counting.statements() + counting.commits() + counting.rollbacks() + counting.connections())
                .isZero();
        assertThat(counting.sql()).isEmpty();
    }

    @Test
    void batchOfDifferentStatementsIsOneExecution() throws SQLException {
        try (Connection connection = counting.getConnection();
                Statement statement = connection.createStatement()) {
            statement.addBatch("insert into counted values (7)");
            statement.addBatch("delete from counted where id = 7");
            statement.executeBatch();
        }
        assertThat(counting.sql()).containsExactly("insert into counted values (7); delete from counted where id = 7");
    }

    @Test
    void failureComesThroughAsItIsAndCounts() throws SQLException {
        try (Connection connection = counting.getConnection();
                Statement statement = connection.createStatement()) {
            assertThatThrownBy(() -> statement.execute("select nothing")).isInstanceOf(SQLException.class);
        }
        assertThat(counting.statements()).isEqualTo(1);
    }

    @Test
    void unwraps() throws SQLException {
        assertThat(counting.isWrapperFor(JdbcDataSource.class)).isTrue();
        assertThat(counting.unwrap(JdbcDataSource.class)).isNotNull();
        assertThat(counting.unwrap(CountingDataSource.class)).isSameAs(counting);
    }

    @Test
    void worksUnderAPool(Database database) throws SQLException {
        try (var pool = database.pool(config -> config.setDataSource(counting))) {
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("select 1");
            }
            assertThat(counting.sql()).contains("select 1");
        }
    }
}
