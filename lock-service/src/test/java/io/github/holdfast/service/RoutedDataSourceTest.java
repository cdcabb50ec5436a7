package io.github.holdfast.service;

import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import org.junit.jupiter.api.Nested;

class RoutedDataSourceTest {

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2Memory extends RoutedDataSourceContract {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends RoutedDataSourceContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends RoutedDataSourceContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends RoutedDataSourceContract {}
}
