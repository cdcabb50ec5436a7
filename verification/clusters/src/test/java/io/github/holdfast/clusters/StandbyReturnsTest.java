package io.github.holdfast.clusters;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

@Tag("cluster")
class StandbyReturnsTest {

    @Nested
    class OnPostgres extends StandbyReturnsContract {
        OnPostgres() {
            super(PostgresPair.start());
        }
    }

    @Nested
    @Tag("nightly")
    class OnMySql extends StandbyReturnsContract {
        OnMySql() {
            super(MysqlPair.start());
        }
    }

    @Nested
    @Tag("nightly")
    class OnMariaDb extends StandbyReturnsContract {
        OnMariaDb() {
            super(MariaDbPair.start());
        }
    }
}
