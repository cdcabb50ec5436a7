package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.Column;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Table;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.boot.Metadata;
import org.hibernate.boot.model.relational.SqlStringGenerationContext;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.engine.jdbc.connections.spi.ConnectionProvider;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.mapping.PersistentClass;
import org.hibernate.metamodel.mapping.EntityMappingType;
import org.hibernate.metamodel.mapping.SelectableMapping;

/**
 * The tables of the locks in one persistence unit: where they are, what its mapping calls them, and what Hibernate does with them.
 *
 * <p>A factory bean puts a {@code Consumer<LockTables>} under {@link #LISTENER} into its unit's properties. Hibernate calls it while it
 * builds the factory, in that thread, when the names are known and before it creates or validates a table. Instances are immutable and
 * thread-safe.
 */
public final class LockTables {

    /** The property of a persistence unit whose value is a {@code Consumer<LockTables>}. An exception of it ends the start of the unit. */
    public static final String LISTENER = "io.github.holdfast.tables";

    private final SessionFactoryImplementor factory;
    private final LockDialect dialect;
    private final MappedNames names;

    private LockTables(SessionFactoryImplementor factory, Function<Class<?>, MappedNames.Names> mapping) {
        this.factory = factory;
        this.dialect = KnownDialects.of(factory);
        Map<String, MappedNames.Names> tables = new LinkedHashMap<>();
        LockEntity.ENTITIES.forEach(entity -> tables.put(
                Objects.requireNonNull(entity.getAnnotation(Table.class)).name(), mapping.apply(entity)));
        this.names = new MappedNames(tables);
    }

    /**
     * Returns the tables of a persistence unit. It does not connect to the database.
     *
     * @param unit not null; a factory of Hibernate that manages all {@link LockEntity#ENTITIES}
     * @throws UnsupportedDatabaseException if no {@link LockDialect} is of the unit's dialect
     * @throws RuntimeException if the factory is not one of Hibernate, or lacks an entity
     */
    public static LockTables of(EntityManagerFactory unit) {
        SessionFactoryImplementor factory = unit.unwrap(SessionFactoryImplementor.class);
        return new LockTables(factory, entity -> {
            EntityMappingType mapped = factory.getMappingMetamodel().getEntityDescriptor(entity);
            return new MappedNames.Names(
                    mapped.getMappedTableDetails().getTableName(),
                    columns(entity, attribute -> selectable(mapped, attribute).getSelectionExpression()));
        });
    }

    private static SelectableMapping selectable(EntityMappingType mapped, String attribute) {
        return (SelectableMapping) Objects.requireNonNull(mapped.findSubPart(attribute, null), attribute);
    }

    /** Returns the tables of a unit whose factory is being built. */
    static LockTables of(Metadata metadata, SessionFactoryImplementor factory) {
        SqlStringGenerationContext sql = factory.getSqlStringGenerationContext();
        return new LockTables(factory, entity -> {
            PersistentClass mapped = Objects.requireNonNull(metadata.getEntityBinding(entity.getName()));
            return new MappedNames.Names(
                    sql.format(mapped.getTable().getQualifiedTableName()),
                    columns(
                            entity,
                            attribute -> mapped.getRecursiveProperty(attribute)
                                    .getColumns()
                                    .get(0)
                                    .getQuotedName(sql.getDialect())));
        });
    }

    private static Map<String, String> columns(Class<?> entity, UnaryOperator<String> ofAttribute) {
        Map<String, String> columns = new HashMap<>();
        for (Field field : entity.getDeclaredFields()) {
            Column column = field.getAnnotation(Column.class);
            if (column != null) {
                columns.put(column.name(), ofAttribute.apply(field.getName()));
            }
        }
        return columns;
    }

    /**
     * Returns the SQL that creates exactly the tables that this persistence unit needs, on its database. It fails if a table exists.
     * Without a naming strategy, a default schema and quoting, it is the script of the artifact lock-changelog.
     */
    public String script() {
        return SchemaScript.of(dialect, names).text();
    }

    public MappedNames names() {
        return names;
    }

    /** Returns the schema of these tables in a database. */
    public LockSchema on(DataSource dataSource) {
        return LockSchema.on(dataSource).named(names);
    }

    /** Returns the data source of the persistence unit; empty if its connections come from elsewhere. */
    public Optional<DataSource> dataSource() {
        return dataSource(factory);
    }

    public static Optional<DataSource> dataSource(SessionFactoryImplementor factory) {
        if (factory.getSessionFactoryOptions().isMultiTenancyEnabled()) {
            return Optional.empty();
        }
        ConnectionProvider connections = factory.getServiceRegistry().requireService(ConnectionProvider.class);
        return connections.isUnwrappableAs(DataSource.class)
                ? Optional.of(connections.unwrap(DataSource.class))
                : Optional.empty();
    }

    /** Returns the schema in which the mapping places the tables, or the catalog on a database without schemas; empty for the current one. */
    public Optional<String> schema() {
        return names.schema();
    }

    /**
     * Returns the names of the tables without quotes and schema, by their names in the script, as parameters for a changelog.
     *
     * @return empty if a changelog, which quotes nothing, and has the plain names of the columns, would create other tables
     */
    public Optional<Map<String, String>> unquotedNames() {
        return names.unquoted(dialect);
    }

    /**
     * Returns what Hibernate does with the tables of this unit when it starts: {@code create}, {@code update}, {@code validate} and so on,
     * as the unit's settings say.
     *
     * @return {@code none} if it does nothing
     */
    public String generation() {
        return setting(
                        AvailableSettings.JAKARTA_HBM2DDL_DATABASE_ACTION,
                        "javax.persistence.schema-generation.database.action")
                .or(() -> writesScript() ? Optional.empty() : setting(AvailableSettings.HBM2DDL_AUTO))
                .orElse("none");
    }

    /** With an action for scripts and none for the database, Hibernate ignores {@code hibernate.hbm2ddl.auto}. */
    private boolean writesScript() {
        return setting(
                        AvailableSettings.JAKARTA_HBM2DDL_SCRIPTS_ACTION,
                        "javax.persistence.schema-generation.scripts.action")
                .filter(action -> HibernateSessions.isHibernate6() || !action.equals("none"))
                .isPresent();
    }

    private Optional<String> setting(String... names) {
        return Stream.of(names)
                .map(factory.getProperties()::get)
                .filter(Objects::nonNull)
                .map(Object::toString)
                .filter(value -> !value.isBlank())
                .findFirst();
    }
}
