package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.SchemaTest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** {@link LockRepositoryTest} and {@link SchemaTest} in the modes of H2 that other tests leave out. */
class H2ModesTest {

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class LocksInAFile extends LockRepositoryTest {
        LocksInAFile(Database database) {
            super(database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class LocksOverTcp extends LockRepositoryTest {
        LocksOverTcp(Database database) {
            super(database);
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    @Tag("long")
    class SchemaInAFile extends SchemaTest {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    @Tag("long")
    class SchemaOverTcp extends SchemaTest {}
}
