package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link SemaphoreCrashPointContract} on every database. */
class SemaphoreCrashPointTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends SemaphoreCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends SemaphoreCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends SemaphoreCrashPointContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends SemaphoreCrashPointContract {}
}
