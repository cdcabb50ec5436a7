package io.github.holdfast.repository;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class SchemaTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class InH2Memory extends SchemaContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_FILE)
    class InH2File extends SchemaContract {}

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class InH2OverTcp extends SchemaContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class InPostgreSql extends SchemaContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class InMariaDb extends SchemaContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class InMySql extends SchemaContract {}
}
