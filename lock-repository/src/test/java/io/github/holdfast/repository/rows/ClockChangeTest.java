package io.github.holdfast.repository.rows;

import io.github.holdfast.test.TestDatabase;
import java.time.ZoneId;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** H2 has no time zone of its own, and its clock is that of the process. */
@Tag("outage")
class ClockChangeTest {

    @Nested
    class InPostgreSql extends ClockChangeContract {
        InPostgreSql() {
            super(TestDatabase.POSTGRESQL, ZoneId.of("America/Los_Angeles"));
        }
    }

    /** Clocks there change by half an hour. */
    @Nested
    class InMariaDb extends ClockChangeContract {
        InMariaDb() {
            super(TestDatabase.MARIADB, ZoneId.of("Australia/Lord_Howe"));
        }
    }

    @Nested
    class InMySql extends ClockChangeContract {
        InMySql() {
            super(TestDatabase.MYSQL, ZoneId.of("America/Los_Angeles"));
        }
    }
}
