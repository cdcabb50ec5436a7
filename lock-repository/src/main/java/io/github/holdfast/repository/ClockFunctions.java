package io.github.holdfast.repository;

import java.time.Instant;
import org.hibernate.boot.model.FunctionContributions;
import org.hibernate.boot.model.FunctionContributor;
import org.hibernate.type.BasicType;
import org.hibernate.type.StandardBasicTypes;

/**
 * The database's clock for HQL: {@code db_clock()}, {@code db_clock_plus(micros)} and {@code db_clock_micros()}, the
 * microseconds since 1970.
 *
 * <p>HQL's own {@code instant} will not do: it is the start of the transaction on PostgreSQL and in the session's time
 * zone on MySQL and MariaDB. What a lease needs is the time at which the row is written, after any wait for it.
 */
public final class ClockFunctions implements FunctionContributor {

    /** For Hibernate, which finds this class through {@code META-INF/services}. */
    public ClockFunctions() {}

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
        register(contributions, "db_clock", 0, clock.now, instant);
        register(contributions, "db_clock_plus", 1, clock.nowPlusMicros, instant);
        register(contributions, "db_clock_micros", 0, clock.epochMicros, number);
    }

    private static void register(
            FunctionContributions contributions, String name, int arguments, String sql, BasicType<?> type) {
        contributions
                .getFunctionRegistry()
                .patternDescriptorBuilder(name, sql)
                .setExactArgumentCount(arguments)
                .setInvariantType(type)
                .register();
    }
}
