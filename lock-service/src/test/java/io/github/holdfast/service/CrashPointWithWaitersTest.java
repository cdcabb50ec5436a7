package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** {@link CrashPointTest} while another node waits for each of its locks, so that each release wakes somebody. */
@Tag("crash-point")
@OnEachDatabase({POSTGRESQL, MARIADB, MYSQL})
class CrashPointWithWaitersTest extends CrashPointTest {

    /** How the tests name their locks, without their numbers. */
    private static final List<String> PREFIXES =
            List.of("crash ", "shared ", "late ", "in doubt ", "sunk ", "adopted ", "late release ");

    private static final int LOCKS = 400;

    /** The bell is one that nobody has: the node is as one that has just died. */
    @BeforeAll
    void anotherNodeWaits(Database database) throws SQLException {
        String until = database.kind() == TestDatabase.POSTGRESQL
                ? "now() + interval '1 day'"
                : "utc_timestamp(6) + interval 1 day";
        database.execute("insert into lock_node (id, started_at, expires_at, ended, version, waits_until, bell)"
                + " values ('waiting', " + until + ", " + until + ", false, 0, " + until + ", 4711)");
        try (Connection connection = database.dataSource().getConnection();
                PreparedStatement insert = connection.prepareStatement(
                        "insert into lock_waiter (name, since, id, node_id, mode, permits, fair)"
                                + " values (?, 1, 'waiter', 'waiting', 'X', 1, false)")) {
            for (String prefix : PREFIXES) {
                for (int number = 1; number <= LOCKS; number++) {
                    insert.setString(1, prefix + number);
                    insert.addBatch();
                }
            }
            insert.executeBatch();
        }
    }
}
