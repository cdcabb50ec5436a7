package io.github.holdfast.repository;

import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.Optional;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.MariaDBDialect;

/** MariaDB, where it differs from MySQL. */
final class MariaDbLockDialect extends MysqlLockDialect {

    @Override
    public String label() {
        return "MariaDB";
    }

    @Override
    public boolean isOf(Dialect dialect) {
        return dialect instanceof MariaDBDialect;
    }

    @Override
    public boolean isOf(DatabaseMetaData metaData) throws SQLException {
        return metaData.getDatabaseProductName().equals("MariaDB") || isMariaDb(metaData);
    }

    @Override
    public String schemaScript() {
        return "db/holdfast/mariadb.sql";
    }

    @Override
    Optional<String> exactCollation() {
        return Optional.of("utf8mb4_nopad_bin");
    }

    /**
     * A query for a few names in a small table reads the whole table. At REPEATABLE READ, it then locks the whole table with its gaps,
     * even if the query lists the names.
     */
    @Override
    public RowGuard guard() {
        return RowGuard.LOCKS_EACH;
    }
}
