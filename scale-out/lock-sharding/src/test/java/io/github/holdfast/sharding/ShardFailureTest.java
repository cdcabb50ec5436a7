package io.github.holdfast.sharding;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** {@link ShardFailureContract} for each kind of server. The other shard is in this process. */
@Tag("outage")
class ShardFailureTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class WithH2 extends ShardFailureContract {

        @Override
        TestDatabase killed() {
            return TestDatabase.H2_TCP;
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class WithPostgres extends ShardFailureContract {

        @Override
        TestDatabase killed() {
            return TestDatabase.POSTGRESQL;
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class WithMariaDb extends ShardFailureContract {

        @Override
        TestDatabase killed() {
            return TestDatabase.MARIADB;
        }
    }

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class WithMySql extends ShardFailureContract {

        @Override
        TestDatabase killed() {
            return TestDatabase.MYSQL;
        }
    }
}
