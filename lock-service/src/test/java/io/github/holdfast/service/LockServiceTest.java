package io.github.holdfast.service;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import org.junit.jupiter.api.Tag;

/** {@link LockServiceContract} on databases. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class LockServiceTest extends LockServiceContract {

    LockServiceTest(Database database) {
        services = Services.on(database);
    }
}
