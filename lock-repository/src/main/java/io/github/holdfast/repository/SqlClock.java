package io.github.holdfast.repository;

import java.util.Optional;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.H2Dialect;
import org.hibernate.dialect.MySQLDialect;
import org.hibernate.dialect.PostgreSQLDialect;

/** How each database tells the time of its wall clock in UTC; and a time between the transaction's begin and now. */
enum SqlClock {
    /** See https://www.postgresql.org/docs/current/functions-datetime.html#FUNCTIONS-DATETIME-CURRENT. */
    POSTGRESQL(
            "clock_timestamp()",
            "(clock_timestamp()+?1*interval '1 microsecond')",
            "(now()+?1*interval '1 microsecond')",
            "cast(extract(epoch from clock_timestamp())*1000000 as bigint)"),

    /**
     * {@code sysdate(6)} is the wall clock, but in the session's zone; {@code now(6)} and {@code utc_timestamp(6)} are the
     * statement's start, and the difference of the first two, how long the statement has run, cancels the zone out. It
     * is taken modulo half an hour, from -15 to 15 minutes: every change to or from daylight saving time is a multiple of
     * that, and one while the statement waits would otherwise shift the lease by itself. See
     * https://dev.mysql.com/doc/refman/8.0/en/date-and-time-functions.html#function_sysdate.
     */
    MYSQL(
            "timestampadd(microsecond," + Sql.MYSQL_ELAPSED + ",utc_timestamp(6))",
            "timestampadd(microsecond," + Sql.MYSQL_ELAPSED + "+?1,utc_timestamp(6))",
            "timestampadd(microsecond,?1,utc_timestamp(6))",
            "timestampdiff(microsecond,'1970-01-01',timestampadd(microsecond," + Sql.MYSQL_ELAPSED
                    + ",utc_timestamp(6)))"),

    /**
     * H2 has no clock but the statement's start, and tells that only here: its {@code current_timestamp} stands still for
     * the whole transaction, so a pause between reading and writing would give two holders. See
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

    /** Returns the clock of the database, or empty if Holdfast does not know that database. */
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
     * Returns what the SQL of a grant or release may be when its statement is the whole transaction. On H2 the two clocks are the same
     * then, and the statement's start costs more the more sessions there are. On MySQL and MariaDB it becomes the statement's start,
     * which is earlier by how long the statement has waited for the row (see {@link LockRepository#grantFromNow}), and takes a third
     * of the text, which the server and, without {@code cachePrepStmts}, the driver parse each time.
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

    /** Returns the SQL without what is added to the time where that is null: so is the sum. */
    String withoutNulls(String sql) {
        String nowPlusNull = nowPlusMicros.replace("?1", "null");
        return sql.replace(nowPlusNull, "null").replace(inAutocommit(nowPlusNull), "null");
    }

    /** An enum's constants cannot name a constant of the enum itself. */
    private static final class Sql {
        static final String H2_STATEMENT_START = "cast((select EXECUTING_STATEMENT_START from"
                + " INFORMATION_SCHEMA.SESSIONS where SESSION_ID=session_id()) as timestamp(6) with time zone)";
        static final String MYSQL_ELAPSED =
                "(mod(timestampdiff(microsecond,now(6),sysdate(6))+87300000000,1800000000)-900000000)";
    }
}
