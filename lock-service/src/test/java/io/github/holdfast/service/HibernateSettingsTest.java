package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import jakarta.persistence.AttributeConverter;
import jakarta.persistence.Converter;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PostLoad;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.hibernate.Interceptor;
import org.hibernate.resource.jdbc.spi.StatementInspector;
import org.hibernate.type.Type;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** What an application sets for all of its own entities, queries and sessions does not concern the locks in its persistence unit. */
@OnEachDatabase
class HibernateSettingsTest {

    private final Database database;

    HibernateSettingsTest(Database database) {
        this.database = database;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "hibernate.jdbc.batch_size=50, hibernate.order_updates=true, hibernate.order_inserts=true, "
                        + "hibernate.default_batch_fetch_size=16, hibernate.max_fetch_depth=0, hibernate.use_subselect_fetch=true, "
                        + "hibernate.jdbc.fetch_size=1, hibernate.jdbc.use_get_generated_keys=false, "
                        + "hibernate.jdbc.use_scrollable_resultset=false",
                "hibernate.jpa.compliance.transaction=true, hibernate.jpa.compliance.closed=true, "
                        + "hibernate.jpa.compliance.proxy=true, hibernate.jpa.compliance.caching=true, "
                        + "hibernate.jpa.compliance.global_id_generators=true, hibernate.jpa.compliance.load_by_id=true, "
                        + "hibernate.jpa.compliance.orderby=true, hibernate.jpa.compliance.cascade=true",
                "hibernate.check_nullability=true, hibernate.use_identifier_rollback=true, "
                        + "hibernate.unowned_association_transient_check=true, hibernate.query.in_clause_parameter_padding=true, "
                        + "hibernate.query.hql.portable_integer_division=true, hibernate.query.startup_check=false, "
                        + "hibernate.query.fail_on_pagination_over_collection_fetch=true, "
                        + "hibernate.query.immutable_entity_update_query_handling_mode=exception, "
                        + "hibernate.criteria.value_handling_mode=inline, hibernate.criteria.copy_tree=true, "
                        + "hibernate.query.native.ignore_jdbc_parameters=true, "
                        + "hibernate.query.native.prefer_jdbc_datetime_types=true",
                "hibernate.use_sql_comments=true, hibernate.format_sql=true, hibernate.highlight_sql=true, "
                        + "hibernate.log_slow_query=1, hibernate.generate_statistics=true, hibernate.session.events.log=true",
                "hibernate.query.plan_cache_enabled=false",
                "hibernate.order_by.default_null_ordering=first",
                "hibernate.order_by.default_null_ordering=last",
                "org.hibernate.flushMode=COMMIT",
                "org.hibernate.flushMode=ALWAYS",
                "org.hibernate.flushMode=MANUAL",
                "org.hibernate.readOnly=true",
                "hibernate.auto_quote_keyword=true, hibernate.globally_quoted_identifiers_skip_column_definitions=true, "
                        + "hibernate.column_ordering_strategy=legacy, hibernate.implicit_naming_strategy=legacy-hbm, "
                        + "hibernate.physical_naming_strategy=org.hibernate.boot.model.naming.CamelCaseToUnderscoresNamingStrategy",
                "hibernate.implicit_naming_strategy=component-path, hibernate.id.db_structure_naming_strategy=legacy, "
                        + "hibernate.id.optimizer.pooled.preferred=pooled-lo, hibernate.bytecode.provider=none, "
                        + "hibernate.loader.delay_entity_loader_creations=false",
                "hibernate.connection.handling_mode=IMMEDIATE_ACQUISITION_AND_HOLD",
                "hibernate.connection.handling_mode=DELAYED_ACQUISITION_AND_RELEASE_AFTER_TRANSACTION",
                "hibernate.connection.handling_mode=DELAYED_ACQUISITION_AND_RELEASE_BEFORE_TRANSACTION_COMPLETION",
                "hibernate.connection.isolation=SERIALIZABLE, hibernate.connection.autocommit=false, "
                        + "hibernate.current_session_context_class=thread, hibernate.enable_lazy_load_no_trans=true, "
                        + "hibernate.transaction.flush_before_completion=true, hibernate.discard_pc_on_close=true, "
                        + "hibernate.allow_update_outside_transaction=true",
                "hibernate.transaction.auto_close_session=true",
                "hibernate.jdbc.time_zone=America/New_York, hibernate.type.java_time_use_direct_jdbc=true",
                "hibernate.timezone.default_storage=COLUMN",
                "hibernate.timezone.default_storage=NORMALIZE",
                "hibernate.timezone.default_storage=NORMALIZE_UTC",
                "hibernate.timezone.default_storage=AUTO",
                "hibernate.type.preferred_instant_jdbc_type=INSTANT",
                "hibernate.type.preferred_instant_jdbc_type=TIMESTAMP",
                "hibernate.type.preferred_instant_jdbc_type=TIMESTAMP_WITH_TIMEZONE",
                "hibernate.type.preferred_instant_jdbc_type=BIGINT",
                "hibernate.type.preferred_boolean_jdbc_type=BIT, "
                        + "hibernate.type.preferred_duration_jdbc_type=INTERVAL_SECOND, hibernate.type.preferred_uuid_jdbc_type=CHAR, "
                        + "hibernate.type.preferred_array_jdbc_type=VARBINARY",
                "hibernate.type.preferred_duration_jdbc_type=BIGINT, hibernate.type.wrapper_array_handling=LEGACY, "
                        + "hibernate.type.prefer_locale_language_tag=true, hibernate.type.prefer_native_enum_types=true",
                "hibernate.use_nationalized_character_data=true",
                "hibernate.jpa_callbacks.enabled=false, hibernate.xml_mapping_enabled=false, "
                        + "hibernate.jpa.static_metamodel.population=disabled, hibernate.jpa.metamodel.population=ignoreUnsupported",
                "jakarta.persistence.validation.mode=none, jakarta.persistence.sharedCache.mode=ALL, "
                        + "jakarta.persistence.query.timeout=10000",
                "jakarta.persistence.lock.timeout=0",
                "jakarta.persistence.lock.timeout=3000",
                "jakarta.persistence.lock.timeout=-2",
                "hibernate.hbm2ddl.auto=validate",
                "hibernate.hbm2ddl.auto=update, hibernate.hbm2ddl.create_namespaces=true"
            })
    void aSettingChangesNothing(String settings) throws Exception {
        Map<String, Object> properties = new HashMap<>();
        for (String setting : settings.split(", ")) {
            String[] parts = setting.split("=", 2);
            properties.put(parts[0], parts[1]);
        }
        use(properties);
    }

    /** Hibernate makes a statement of 0 that does not wait, and of -2 one that skips the row. */
    @ParameterizedTest
    @ValueSource(strings = {"0", "-2"})
    void aGuardWaitsForTheRowWhateverTheLockTimeout(String lockTimeout) throws Exception {
        try (Services services = Services.on(database)) {
            EntityManagerFactory unit =
                    services.unit(database.pool(pool -> {}), Map.of("jakarta.persistence.lock.timeout", lockTimeout));
            JpaTransactionManager transactions = new JpaTransactionManager(unit);
            LockRequest request = LockRequest.of("guarded").lease(Duration.ofSeconds(90));
            LockHandle lock = services.build(unit, builder -> builder.transactionManager(transactions))
                    .acquire(request);
            try (Connection other = database.dataSource().getConnection();
                    Statement statement = other.createStatement()) {
                other.setAutoCommit(false);
                statement.execute("select name from distributed_lock where name = 'guarded' for update");
                Future<?> stood = CompletableFuture.runAsync(
                        () -> new TransactionTemplate(transactions).executeWithoutResult(status -> lock.guard()));
                assertThatThrownBy(() -> stood.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
                other.commit();
                assertThat(stood).succeedsWithin(Duration.ofSeconds(60));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("converters")
    void aConverterOfAllAttributesOfATypeIsNotOurs(Class<?> converter) throws Exception {
        use(Map.of(), converter);
    }

    static Stream<Class<?>> converters() {
        return Stream.of(
                OfStrings.class,
                OfInstants.class,
                OfIntegers.class,
                OfLongs.class,
                OfBooleans.class,
                OfIds.class,
                OfDurations.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"orm-defaults.xml", "orm-schema.xml", "orm-delimited.xml"})
    void theDefaultsOfAMappingFileAreNotOurs(String file) throws Exception {
        use(Map.of("hibernate.orm_xml_files", List.of("settings/" + file)));
    }

    /** A listener of all entities. */
    public static class Listener {

        /** Called by Hibernate for each entity that has not excluded it. */
        @PostLoad
        public void loaded(Object entity) {
            throw new AssertionError("loaded " + entity);
        }
    }

    @Test
    void anInterceptorSeesNothingOfOurs() throws Exception {
        use(Map.of("hibernate.session_factory.interceptor", new OfApplication()));
    }

    @Test
    void noInterceptorIsMadeForOurSessions() throws Exception {
        Supplier<Interceptor> interceptors = () -> {
            boolean isOurs = StackWalker.getInstance()
                    .walk(frames -> frames.anyMatch(
                            frame -> frame.getClassName().startsWith("io.github.holdfast.repository.")));
            assertThat(isOurs).isFalse();
            return new OfApplication();
        };
        use(Map.of("hibernate.session_factory.session_scoped_interceptor", interceptors));
    }

    private static final class OfApplication implements Interceptor {
        @Override
        public boolean onLoad(Object entity, Object id, Object[] state, String[] properties, Type[] types) {
            throw new AssertionError("loaded " + entity);
        }
    }

    @Test
    void anInspectorMayAddAComment() throws Exception {
        StatementInspector inspector = sql -> "/* really? */ " + sql + " /* 'yes'? */";
        use(Map.of("hibernate.session_factory.statement_inspector", inspector));
    }

    void use(Map<String, ?> properties, Class<?>... applications) throws Exception {
        EveryKindOfLock.use(database, pool -> {}, properties, applications);
    }

    /** A converter that must not be called. */
    abstract static class Unused<T, C> implements AttributeConverter<T, C> {
        @Override
        public C convertToDatabaseColumn(T attribute) {
            throw new AssertionError("converted " + attribute);
        }

        @Override
        public T convertToEntityAttribute(C column) {
            throw new AssertionError("converted " + column);
        }
    }

    @Converter(autoApply = true)
    static class OfStrings extends Unused<String, byte[]> {}

    @Converter(autoApply = true)
    static class OfInstants extends Unused<Instant, Long> {}

    @Converter(autoApply = true)
    static class OfIntegers extends Unused<Integer, String> {}

    @Converter(autoApply = true)
    static class OfLongs extends Unused<Long, String> {}

    @Converter(autoApply = true)
    static class OfBooleans extends Unused<Boolean, String> {}

    @Converter(autoApply = true)
    static class OfIds extends Unused<UUID, String> {}

    @Converter(autoApply = true)
    static class OfDurations extends Unused<Duration, Long> {}
}
