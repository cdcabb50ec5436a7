package io.github.holdfast.service;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;

/** {@link LockSearchContract} on databases. */
@OnEachDatabase
class LockSearchTest extends LockSearchContract {

    private final Services onDatabase;

    LockSearchTest(Database database) {
        onDatabase = Services.on(database);
    }

    @Override
    TestServices services() {
        return onDatabase;
    }
}
