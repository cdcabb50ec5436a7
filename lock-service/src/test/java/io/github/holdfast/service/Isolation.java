package io.github.holdfast.service;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.test.TestDatabase;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How all connections of a pool are isolated. */
enum Isolation {
    OF_THE_SERVER(null),
    READ_COMMITTED("TRANSACTION_READ_COMMITTED"),
    REPEATABLE_READ("TRANSACTION_REPEATABLE_READ"),
    SERIALIZABLE("TRANSACTION_SERIALIZABLE"),
    REPEATABLE_READ_CHECKED("TRANSACTION_REPEATABLE_READ"),
    SERIALIZABLE_CHECKED("TRANSACTION_SERIALIZABLE");

    private final @Nullable String level;

    Isolation(@Nullable String level) {
        this.level = level;
    }

    /**
     * The levels at which a transaction goes on seeing what it saw at its first read. On MariaDB both without and with its
     * check of what is locked against that, which is the default since 11.6.2:
     * https://mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation
     */
    static List<Isolation> ofSnapshots(TestDatabase kind) {
        return kind == TestDatabase.MARIADB
                ? List.of(REPEATABLE_READ, SERIALIZABLE, REPEATABLE_READ_CHECKED, SERIALIZABLE_CHECKED)
                : List.of(REPEATABLE_READ, SERIALIZABLE);
    }

    void set(HikariConfig pool) {
        if (level == null) {
            return;
        }
        pool.setTransactionIsolation(level);
        if (pool.getJdbcUrl().startsWith("jdbc:mariadb:")) {
            boolean isChecked = this == REPEATABLE_READ_CHECKED || this == SERIALIZABLE_CHECKED;
            pool.setConnectionInitSql("set session innodb_snapshot_isolation = " + (isChecked ? "on" : "off"));
        }
    }
}
