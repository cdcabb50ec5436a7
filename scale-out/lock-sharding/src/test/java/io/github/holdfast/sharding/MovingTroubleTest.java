package io.github.holdfast.sharding;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** {@link MovingTroubleContract} on pairs of different databases. */
class MovingTroubleTest {

    @Nested
    @OnDatabase(TestDatabase.H2_TCP)
    class OnH2AndPostgres extends MovingTroubleContract {

        @Override
        TestDatabase second() {
            return TestDatabase.POSTGRESQL;
        }
    }

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    @Tag("other-database")
    class OnMariaDbAndMySql extends MovingTroubleContract {

        @Override
        TestDatabase second() {
            return TestDatabase.MYSQL;
        }
    }
}
