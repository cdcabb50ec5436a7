package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.store.TestApplication;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import org.junit.jupiter.api.Tag;

/** {@link LockRunRepositoryContract} on each database. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class LockRunRepositoryTest extends LockRunRepositoryContract {

    LockRunRepositoryTest(Database database) {
        application = TestApplication.on(database);
    }
}
