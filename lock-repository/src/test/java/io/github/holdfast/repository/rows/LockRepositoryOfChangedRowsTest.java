package io.github.holdfast.repository.rows;

import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;

/** {@link LockRepositoryTest} where the driver counts the rows that a statement changes, not those that it finds. */
@OnEachDatabase({MARIADB, MYSQL})
class LockRepositoryOfChangedRowsTest extends LockRepositoryTest {

    LockRepositoryOfChangedRowsTest(Database database) {
        super(database);
    }

    @Override
    void configure(HikariConfig pool) {
        TestApplication.countChangedRows(pool);
    }
}
