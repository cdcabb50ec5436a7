package io.github.holdfast.liquibase;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Set;

/**
 * The SQL of the clock of each database, for statements that are a transaction by themselves. It is the wall clock in UTC, at the
 * begin of the statement or later. A statement that waits for a row thus gives a lease that ends too early rather than too late.
 */
enum SqlDialect {
    POSTGRESQL(
            "clock_timestamp()",
            "statement_timestamp()",
            "(%s+?*interval '1 microsecond')",
            "cast(extract(epoch from %s)*1000000 as bigint)"),

    /** Also MariaDB. {@code now} would be in the time zone of the session. */
    MYSQL(
            "utc_timestamp(6)",
            "utc_timestamp(6)",
            "timestampadd(microsecond,?,%s)",
            "timestampdiff(microsecond,'1970-01-01',%s)"),

    H2(
            "current_timestamp(6)",
            "current_timestamp(6)",
            "dateadd(microsecond,?,%s)",
            "cast(extract(epoch from %s)*1000000 as bigint)");

    private static final Set<String> SUPPORTED = Set.of("PostgreSQL", "MySQL", "MariaDB", "H2");

    private final String now;
    private final String begin;
    private final String plusMicros;
    private final String micros;

    SqlDialect(String now, String begin, String plusMicros, String micros) {
        this.now = now;
        this.begin = begin;
        this.plusMicros = plusMicros;
        this.micros = micros;
    }

    /** Whether the statements of the lock can run on a database of this name. */
    static boolean isSupported(String product) {
        return SUPPORTED.contains(product);
    }

    /** Returns the dialect of a database. {@link io.github.holdfast.repository.LockSchema} has refused those without support. */
    static SqlDialect of(Connection connection) throws SQLException {
        String product = connection.getMetaData().getDatabaseProductName().toLowerCase(Locale.ROOT);
        return switch (product) {
            case "postgresql" -> POSTGRESQL;
            case "h2" -> H2;
            default -> MYSQL;
        };
    }

    /**
     * Completes a statement: {@code {now}} is the clock, {@code {begin}} is the same wherever it stands in the statement, <code>{plus
     * x}</code> is an instant plus a parameter in microseconds, and <code>{micros x}</code> is the number of microseconds from 1970 to an
     * instant.
     */
    String complete(String sql) {
        String result = sql.replace("{now}", now).replace("{begin}", begin);
        result = result.replaceAll("\\{plus ([^{}]+)}", plusMicros.replace("%s", "$1"));
        return result.replaceAll("\\{micros ([^{}]+)}", micros.replace("%s", "$1"));
    }
}
