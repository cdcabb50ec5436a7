package io.github.holdfast.repository;

import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.hibernate.dialect.Dialect;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Holdfast's own dialects, and those on the class path after them. Not for applications. */
public final class KnownDialects {

    private static final Logger LOG = LoggerFactory.getLogger(KnownDialects.class);

    /** Holdfast's own go first: no other dialect could do for these databases what they do. */
    private static final List<LockDialect> ALL = Stream.concat(
                    Stream.of(
                            new PostgresqlLockDialect(),
                            new MysqlLockDialect(),
                            new MariaDbLockDialect(),
                            new H2LockDialect()),
                    ServiceLoader.load(LockDialect.class, LockDialect.class.getClassLoader()).stream()
                            .flatMap(KnownDialects::created))
            .toList();

    private KnownDialects() {}

    /** Creates a dialect. One that fails must not stop the persistence units that do not need it. */
    static Stream<LockDialect> created(ServiceLoader.Provider<LockDialect> provider) {
        try {
            return Stream.of(provider.get());
        } catch (ServiceConfigurationError broken) {
            LOG.warn(
                    "The dialect {} is left out: it cannot be created",
                    provider.type().getName(),
                    broken);
            return Stream.empty();
        }
    }

    /** Returns the dialect for persistence units with this dialect of Hibernate; empty if Holdfast does not support the database. */
    static Optional<LockDialect> of(Dialect dialect) {
        return ALL.stream().filter(known -> known.isOf(dialect)).findFirst();
    }

    /**
     * Returns the dialect of a persistence unit.
     *
     * @throws UnsupportedDatabaseException if Holdfast does not support the database
     */
    public static LockDialect of(SessionFactoryImplementor factory) {
        Dialect dialect = factory.getJdbcServices().getDialect();
        MultiClockDatabase.refuse(dialect.getClass().getName());
        return of(dialect)
                .orElseThrow(() -> new UnsupportedDatabaseException(
                        "Holdfast supports " + labels() + ", but the persistence unit uses "
                                + dialect.getClass().getName()));
    }

    /** Returns the dialect of a connected database; empty if Holdfast does not support the database. */
    public static Optional<LockDialect> of(DatabaseMetaData metaData) throws SQLException {
        for (LockDialect known : ALL) {
            if (known.isOf(metaData)) {
                return Optional.of(known);
            }
        }
        return Optional.empty();
    }

    /** Returns the locations of the scripts that create the tables. */
    public static Stream<String> schemaScripts() {
        return ALL.stream().map(LockDialect::schemaScript);
    }

    /** Returns the names of the supported databases, for messages. */
    static String labels() {
        List<String> labels = ALL.stream().map(LockDialect::label).toList();
        return labels.stream().limit(labels.size() - 1L).collect(Collectors.joining(", ")) + " and "
                + labels.get(labels.size() - 1);
    }
}
