package io.github.holdfast.shedlock;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/** {@link JointLockProviderContract} on every kind of database. */
class JointLockProviderTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2Tcp extends JointLockProviderContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends JointLockProviderContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends JointLockProviderContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends JointLockProviderContract {}
}
