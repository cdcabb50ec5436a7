package io.github.holdfast.repository;

import java.util.Optional;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.H2Dialect;
import org.hibernate.dialect.MySQLDialect;
import org.hibernate.dialect.PostgreSQLDialect;

/** The SQL of each database for the wall clock in UTC, and for a time between the transaction's begin and now. */
enum SqlClock {
    /** See https://www.postgresql.org/docs/current/functions-datetime.html#FUNCTIONS-DATETIME-CURRENT. */
    POSTGRESQL(
            "clock_timestamp()",
            "(clock_timestamp()+?1*interval '1 microsecond')",
            "(now()+?1*interval '1 microsecond')",
            "cast(extract(epoch from clock_timestamp())*1000000 as bigint)"),

    /**
     * {@code sysdate(6)} is the wall clock, but in the session's time zone. {@code now(6)} and {@code utc_timestamp(6)} are the
     * statement's start. {@code sysdate(6)} minus {@code now(6)} is the time that the statement has run, because the time zones
     * cancel out. A change of daylight saving time during the statement would shift the lease. So the difference is taken modulo
     * half an hour, from -15 to 15 minutes, because every such change is a multiple of half an hour. See
     * https://dev.mysql.com/doc/refman/8.0/en/date-and-time-functions.html#function_sysdate.
     */
    MYSQL(
            "timestampadd(microsecond," + Sql.MYSQL_ELAPSED + ",utc_timestamp(6))",
            "timestampadd(microsecond," + Sql.MYSQL_ELAPSED + "+?1,utc_timestamp(6))",
            "timestampadd(microsecond,?1,utc_timestamp(6))",
            "timestampdiff(microsecond,'1970-01-01',timestampadd(microsecond," + Sql.MYSQL_ELAPSED
                    + ",utc_timestamp(6)))"),

    /**
     * H2's only moving clock is the start of the statement, and only this view shows it. Its {@code current_timestamp} stands
     * still for the whole transaction. A pause between reading and writing would then lead to two holders. See
     * https://h2database.com/html/functions.html#current_timestamp.
     */
    H2(
            Sql.H2_STATEMENT_START,
            "dateadd(microsecond,?1," + Sql.H2_STATEMENT_START + ")",
            "dateadd(microsecond,?1,current_timestamp(6))",
            "cast(extract(epoch from " + Sql.H2_STATEMENT_START + ")*1000000 as bigint)");

    final String now;
    final String nowPlusMicros;
    final String beginPlusMicros;
    final String epochMicros;

    SqlClock(String now, String nowPlusMicros, String beginPlusMicros, String epochMicros) {
        this.now = now;
        this.nowPlusMicros = nowPlusMicros;
        this.beginPlusMicros = beginPlusMicros;
        this.epochMicros = epochMicros;
    }

    /** Returns the clock of the database; empty if Holdfast does not support the database. */
    static Optional<SqlClock> of(Dialect dialect) {
        if (dialect instanceof PostgreSQLDialect) {
            return Optional.of(POSTGRESQL);
        }
        if (dialect instanceof H2Dialect) {
            return Optional.of(H2);
        }
        // MariaDB's dialect extends MySQL's.
        return dialect instanceof MySQLDialect ? Optional.of(MYSQL) : Optional.empty();
    }

    /**
     * Returns the SQL for a grant or release that is a transaction by itself. On H2, the statement's start then equals the
     * cheaper {@code current_timestamp}. The cost of the statement's start grows with the number of sessions. On MySQL and
     * MariaDB, the clock becomes the statement's start. That is too early if the statement waits for the row (see {@link
     * LockRepository#grantFromNow}). The expression for the exact clock would be a third of the SQL text. The server parses that
     * text each time, and so does the driver without {@code cachePrepStmts}.
     */
    String inAutocommit(String sql) {
        return switch (this) {
            case POSTGRESQL -> sql;
            case MYSQL ->
                sql.replace(Sql.MYSQL_ELAPSED + "+", "")
                        .replace(
                                "timestampadd(microsecond," + Sql.MYSQL_ELAPSED + ",utc_timestamp(6))",
                                "utc_timestamp(6)");
            case H2 -> sql.replace(Sql.H2_STATEMENT_START, "current_timestamp(6)");
        };
    }

    /** Returns the SQL with a plain null in place of each addition of null to the clock. Such a sum is null anyway. */
    String withoutNulls(String sql) {
        String nowPlusNull = nowPlusMicros.replace("?1", "null");
        return sql.replace(nowPlusNull, "null").replace(inAutocommit(nowPlusNull), "null");
    }

    /** Parts of the SQL. They have a class of their own, because enum constants cannot use static fields of the same enum. */
    private static final class Sql {
        static final String H2_STATEMENT_START = "cast((select EXECUTING_STATEMENT_START from"
                + " INFORMATION_SCHEMA.SESSIONS where SESSION_ID=session_id()) as timestamp(6) with time zone)";
        static final String MYSQL_ELAPSED =
                "(mod(timestampdiff(microsecond,now(6),sysdate(6))+87300000000,1800000000)-900000000)";
    }
}
