package io.github.holdfast.repository;

import java.time.Instant;
import java.util.Optional;
import org.hibernate.boot.model.FunctionContributions;
import org.hibernate.boot.model.FunctionContributor;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.H2Dialect;
import org.hibernate.dialect.MySQLDialect;
import org.hibernate.dialect.PostgreSQLDialect;
import org.hibernate.query.sqm.produce.function.FunctionParameterType;
import org.hibernate.query.sqm.produce.function.PatternFunctionDescriptorBuilder;
import org.hibernate.query.sqm.produce.function.StandardFunctionArgumentTypeResolvers;
import org.hibernate.type.BasicType;
import org.hibernate.type.StandardBasicTypes;

/**
 * The SQL of each database for the wall clock in UTC, for a time between the transaction's begin and now, and for the begin of the
 * statement.
 */
enum SqlClock {
    /** See https://www.postgresql.org/docs/current/functions-datetime.html#FUNCTIONS-DATETIME-CURRENT. */
    POSTGRESQL(
            "clock_timestamp()",
            "(clock_timestamp()+?1*interval '1 microsecond')",
            "(now()+?1*interval '1 microsecond')",
            "cast(extract(epoch from clock_timestamp())*1000000 as bigint)",
            "cast(extract(epoch from statement_timestamp())*1000000 as bigint)"),

    /**
     * {@code sysdate(6)} is the wall clock, but in the session's time zone. {@code now(6)} and {@code utc_timestamp(6)} are
     * the statement's start. {@code sysdate(6)} minus {@code now(6)} is the time that the statement has run, because the time
     * zones cancel out. A change of daylight saving time during the statement would shift the lease. So the difference is
     * taken modulo half an hour, from -15 to 15 minutes, because every such change is a multiple of half an hour. See
     * https://dev.mysql.com/doc/refman/8.0/en/date-and-time-functions.html#function_sysdate.
     */
    MYSQL(
            "timestampadd(microsecond," + Sql.MYSQL_ELAPSED + ",utc_timestamp(6))",
            "timestampadd(microsecond," + Sql.MYSQL_ELAPSED + "+?1,utc_timestamp(6))",
            "timestampadd(microsecond,?1,utc_timestamp(6))",
            "timestampdiff(microsecond,'1970-01-01',timestampadd(microsecond," + Sql.MYSQL_ELAPSED
                    + ",utc_timestamp(6)))",
            "last_insert_id(timestampdiff(microsecond,'1970-01-01',utc_timestamp(6)))"),

    /**
     * H2's only moving clock is the start of the statement, and only this view shows it. Its {@code current_timestamp} stands
     * still for the whole transaction. A pause between reading and writing would then lead to two holders. See
     * https://h2database.com/html/functions.html#current_timestamp.
     */
    H2(
            Sql.H2_STATEMENT_START,
            "dateadd(microsecond,?1," + Sql.H2_STATEMENT_START + ")",
            "dateadd(microsecond,?1,current_timestamp(6))",
            "cast(extract(epoch from " + Sql.H2_STATEMENT_START + ")*1000000 as bigint)",
            "cast(extract(epoch from " + Sql.H2_STATEMENT_START + ")*1000000 as bigint)");

    final String now;
    final String nowPlusMicros;
    final String beginPlusMicros;
    final String epochMicros;
    final String epoch;

    SqlClock(String now, String nowPlusMicros, String beginPlusMicros, String epochMicros, String epoch) {
        this.now = now;
        this.nowPlusMicros = nowPlusMicros;
        this.beginPlusMicros = beginPlusMicros;
        this.epochMicros = epochMicros;
        this.epoch = epoch;
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
     * MariaDB, the clock becomes the statement's start. That is too early if the statement waits for the row (see
     * {@link LockRepository#grantFromNow}). The expression for the exact clock would be a third of the SQL text. The server
     * parses that text each time, and so does the driver without {@code cachePrepStmts}.
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

    /**
     * The HQL functions for the database's clock: {@code db_clock()}, {@code db_clock_plus(micros)}, {@code db_clock_micros()}
     * (the microseconds since 1970), {@code db_epoch()} and {@code db_begin_plus(micros)}. The last function adds to a time between
     * the begin of the transaction and now. Use it in queries that read the time for every row, and that may consider a row
     * younger than it is.
     *
     * <p>{@code db_epoch()} is the first version and token of a new row: the microseconds since 1970 when the statement began, the
     * same wherever it stands in the statement. On MySQL and MariaDB, it is also the key that the statement generates
     * (https://dev.mysql.com/doc/refman/8.0/en/information-functions.html#function_last-insert-id).
     *
     * <p>HQL's own {@code instant} is unsuitable. On PostgreSQL, it is the start of the transaction. On MySQL and MariaDB, it
     * is in the session's time zone. A lease needs the time of the write itself, after any wait for the row.
     */
    public static final class Functions implements FunctionContributor {

        /** Called by Hibernate, which finds this class through {@code META-INF/services}. */
        public Functions() {}

        @Override
        public void contributeFunctions(FunctionContributions contributions) {
            // Hibernate calls this for every persistence unit of the application, whatever its database.
            SqlClock.of(contributions.getDialect()).ifPresent(clock -> register(clock, contributions));
        }

        private static void register(SqlClock clock, FunctionContributions contributions) {
            BasicType<Instant> instant =
                    contributions.getTypeConfiguration().getBasicTypeRegistry().resolve(StandardBasicTypes.INSTANT);
            BasicType<Long> number =
                    contributions.getTypeConfiguration().getBasicTypeRegistry().resolve(StandardBasicTypes.LONG);
            describe(contributions, "db_clock", clock.now, instant)
                    .setExactArgumentCount(0)
                    .register();
            describePlus(contributions, "db_clock_plus", clock.nowPlusMicros, instant);
            describePlus(contributions, "db_begin_plus", clock.beginPlusMicros, instant);
            describe(contributions, "db_clock_micros", clock.epochMicros, number)
                    .setExactArgumentCount(0)
                    .register();
            describe(contributions, "db_epoch", clock.epoch, number)
                    .setExactArgumentCount(0)
                    .register();
        }

        private static void describePlus(
                FunctionContributions contributions, String name, String sql, BasicType<Instant> instant) {
            // Without an argument type, Hibernate would send PostgreSQL a null lease as bytea.
            describe(contributions, name, sql, instant)
                    .setExactArgumentCount(1)
                    .setArgumentTypeResolver(StandardFunctionArgumentTypeResolvers.invariant(
                            contributions.getTypeConfiguration(), FunctionParameterType.INTEGER))
                    .register();
        }

        private static PatternFunctionDescriptorBuilder describe(
                FunctionContributions contributions, String name, String sql, BasicType<?> type) {
            return contributions
                    .getFunctionRegistry()
                    .patternDescriptorBuilder(name, sql)
                    .setInvariantType(type);
        }
    }
}
