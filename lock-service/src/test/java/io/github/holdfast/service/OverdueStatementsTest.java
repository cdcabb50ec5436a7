package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** {@link OverdueStatementsContract} on the databases that let a statement wait for longer than the test. */
class OverdueStatementsTest {

    @Test
    void whatIsClosedWatchesNothing() {
        OverdueStatements overdue = new OverdueStatements(Ticker.SYSTEM);
        assertThat(overdue.begin(() -> {}, Duration.ofSeconds(1))).isNotNull();
        overdue.close();
        assertThat(overdue.begin(() -> {}, Duration.ofSeconds(1))).isNull();
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends OverdueStatementsContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends OverdueStatementsContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends OverdueStatementsContract {}
}
