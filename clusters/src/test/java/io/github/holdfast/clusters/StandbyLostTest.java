package io.github.holdfast.clusters;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

class StandbyLostTest {

    @Nested
    class OnPostgres extends StandbyLostContract {
        OnPostgres() {
            super(PostgresPair.start());
        }
    }

    @Nested
    @Tag("nightly")
    class OnMySql extends StandbyLostContract {
        OnMySql() {
            super(MysqlPair.start());
        }
    }
}
