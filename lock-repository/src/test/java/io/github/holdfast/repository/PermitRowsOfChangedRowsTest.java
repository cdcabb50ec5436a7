package io.github.holdfast.repository;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;

/** {@link PermitRowsTest} where the driver counts the rows that a statement changes, not those that it finds. */
@OnEachDatabase({TestDatabase.MARIADB, TestDatabase.MYSQL})
class PermitRowsOfChangedRowsTest extends PermitRowsTest {

    @Override
    void configure(HikariConfig pool) {
        String url = pool.getJdbcUrl();
        pool.setJdbcUrl(url + (url.contains("?") ? "&" : "?") + "useAffectedRows=true");
    }
}
