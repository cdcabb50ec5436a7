package io.github.holdfast.clusters;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("cluster")
class StandbyLostTest {

    @Nested
    class OnPostgres extends StandbyLostContract {
        OnPostgres() {
            super(PostgresPair.start());
        }
    }

    @Nested
    @Tag("nightly")
    class OnPostgresWhosePrimaryLives extends StandbyLostContract {
        OnPostgresWhosePrimaryLives() {
            super(new PostgresSplit());
        }

        /** Who released it still has none but the old primary. On the new one the lock is held until its lease is over. */
        @Override
        @Test
        void aReleaseThatTheStandbyDoesNotHaveIsRepeated() {
            assertReleaseIsUnresolved();
        }
    }

    @Nested
    @Tag("nightly")
    class OnMySql extends StandbyLostContract {
        OnMySql() {
            super(MysqlPair.start());
        }
    }

    @Nested
    @Tag("nightly")
    class OnMariaDb extends StandbyLostContract {
        OnMariaDb() {
            super(MariaDbPair.start());
        }
    }
}
