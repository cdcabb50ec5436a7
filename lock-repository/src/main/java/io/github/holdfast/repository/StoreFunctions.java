package io.github.holdfast.repository;

import java.time.Instant;
import org.hibernate.boot.model.FunctionContributions;
import org.hibernate.boot.model.FunctionContributor;
import org.hibernate.query.sqm.produce.function.FunctionParameterType;
import org.hibernate.query.sqm.produce.function.PatternFunctionDescriptorBuilder;
import org.hibernate.query.sqm.produce.function.StandardFunctionArgumentTypeResolvers;
import org.hibernate.type.BasicType;
import org.hibernate.type.SqlTypes;
import org.hibernate.type.StandardBasicTypes;
import org.hibernate.type.descriptor.java.InstantJavaType;
import org.hibernate.type.spi.TypeConfiguration;

/**
 * The HQL functions of Holdfast's queries. Five are for the database's clock: {@code db_clock()}, {@code db_clock_plus(micros)}, {@code
 * db_clock_micros()} (the microseconds since 1970), {@code db_epoch()} and {@code db_begin_plus(micros)}. The last of them adds to a time
 * between the begin of the transaction and now. Use it in queries that read the time for every row, and that may consider a row
 * younger than it is.
 *
 * <p>{@code db_epoch()} is the first version and token of a new row: the microseconds since 1970 when the statement began, the
 * same wherever it stands in the statement. On MySQL and MariaDB, it is also the key that the statement generates
 * (https://dev.mysql.com/doc/refman/8.0/en/information-functions.html#function_last-insert-id).
 *
 * <p>{@code db_notify(channel, number, text)}, for PostgreSQL, sends a notification when the transaction commits. {@code
 * db_generated_key(number)}, for MySQL and MariaDB, makes the number, or 0 in place of null, the key that the statement generates.
 * Both return 0. {@code db_table_id()}, for PostgreSQL, is the number of the table that an update writes to. Written as nested
 * functions of HQL, each would take Hibernate several times as long to parse.
 *
 * <p>HQL's own {@code instant} is unsuitable. On PostgreSQL, it is the start of the transaction. On MySQL and MariaDB, it
 * is in the session's time zone. A lease needs the time of the write itself, after any wait for the row.
 */
public final class StoreFunctions implements FunctionContributor {

    /** Called by Hibernate, which finds this class through {@code META-INF/services}. */
    public StoreFunctions() {}

    @Override
    public void contributeFunctions(FunctionContributions contributions) {
        // Hibernate calls this for every persistence unit of the application, whatever its database.
        KnownDialects.of(contributions.getDialect()).ifPresent(known -> register(known.clock(), contributions));
    }

    /** Returns the type of the clock's results, and of the instants in Holdfast's entities, whatever type the application prefers. */
    public static BasicType<Instant> instant(TypeConfiguration types) {
        return types.getBasicTypeRegistry()
                .resolve(InstantJavaType.INSTANCE, types.getJdbcTypeRegistry().getDescriptor(SqlTypes.TIMESTAMP_UTC));
    }

    private static void register(SqlClock clock, FunctionContributions contributions) {
        BasicType<Instant> instant = instant(contributions.getTypeConfiguration());
        BasicType<Long> number =
                contributions.getTypeConfiguration().getBasicTypeRegistry().resolve(StandardBasicTypes.LONG);
        describe(contributions, "db_clock", clock.now(), instant)
                .setExactArgumentCount(0)
                .register();
        describePlus(contributions, "db_clock_plus", clock.nowPlusMicros(), instant);
        describePlus(contributions, "db_begin_plus", clock.beginPlusMicros(), instant);
        describe(contributions, "db_clock_micros", clock.epochMicros(), number)
                .setExactArgumentCount(0)
                .register();
        describe(contributions, "db_epoch", clock.epoch(), number)
                .setExactArgumentCount(0)
                .register();
        BasicType<Integer> count =
                contributions.getTypeConfiguration().getBasicTypeRegistry().resolve(StandardBasicTypes.INTEGER);
        // pg_notify returns an empty text. With a full queue, the whole transaction would fail
        // (https://www.postgresql.org/docs/current/sql-notify.html).
        describe(
                        contributions,
                        "db_notify",
                        "case when pg_notification_queue_usage()<0.9 then"
                                + " length(cast(pg_notify(?1, concat(cast(?2 as varchar), ' ', ?3)) as varchar)) else 0 end",
                        count)
                .setExactArgumentCount(3)
                .register();
        // Only PostgreSQL has it, but the queries of the locks are parsed on each database.
        describe(contributions, "db_table_id", "cast(tableoid as bigint)", number)
                .setExactArgumentCount(0)
                .register();
        describe(contributions, "db_generated_key", "0 * last_insert_id(coalesce(?1, 0))", count)
                .setExactArgumentCount(1)
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
