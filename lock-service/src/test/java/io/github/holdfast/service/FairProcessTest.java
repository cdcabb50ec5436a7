package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

/**
 * {@link FairProcessContract} on two databases, because it takes a minute and a half on each. {@link FairTest} passes over a node that
 * is not heard of on every database.
 */
class FairProcessTest {

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends FairProcessContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends FairProcessContract {}
}
