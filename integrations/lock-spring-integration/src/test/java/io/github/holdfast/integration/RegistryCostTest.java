package io.github.holdfast.integration;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link RegistryCostContract} on every database. */
class RegistryCostTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2 extends RegistryCostContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends RegistryCostContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends RegistryCostContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends RegistryCostContract {}
}
