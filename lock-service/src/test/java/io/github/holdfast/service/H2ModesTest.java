package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_FILE;
import static io.github.holdfast.test.TestDatabase.H2_TCP;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;

/** {@link LockServiceTest} in the modes of H2 that most other tests leave out. */
@OnEachDatabase({H2_FILE, H2_TCP})
class H2ModesTest extends LockServiceTest {

    H2ModesTest(Database database) {
        super(database);
    }
}
