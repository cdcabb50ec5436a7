package io.github.holdfast.benchmark;

import io.github.holdfast.entity.LockEntity;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.hibernate.SessionFactory;
import org.hibernate.boot.MetadataSources;
import org.hibernate.boot.SessionFactoryBuilder;
import org.hibernate.boot.model.naming.Identifier;
import org.hibernate.boot.registry.BootstrapServiceRegistryBuilder;
import org.hibernate.boot.registry.StandardServiceRegistryBuilder;
import org.hibernate.boot.spi.SessionFactoryOptions;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.engine.config.spi.ConfigurationService;
import org.hibernate.engine.jdbc.connections.spi.ConnectionProvider;
import org.hibernate.engine.jdbc.env.spi.JdbcEnvironment;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.resource.jdbc.spi.PhysicalConnectionHandlingMode;
import org.hibernate.service.ServiceRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Builds a factory of nothing but Holdfast's entities, from the factory of an application that does not have them. A prototype: the
 * decision about it is ADR 27.
 */
final class SecondFactory {

    /** Settings of the application that must not act a second time, or on entities that are not its own. */
    private static final List<String> NOT_FOR_LOCKS = List.of(
            "hibernate.hbm2ddl",
            "jakarta.persistence.schema-generation",
            "jakarta.persistence.sql-load-script-source",
            "jakarta.persistence.bean.manager",
            "hibernate.cache.",
            "hibernate.event.listener",
            "hibernate.ejb.",
            "hibernate.session_factory.interceptor",
            "hibernate.session_factory.session_scoped_interceptor",
            "hibernate.session_factory_name",
            "hibernate.session_factory_observer",
            "hibernate.jpa.compliance",
            "hibernate.search.",
            "hibernate.generate_statistics");

    private SecondFactory() {}

    static SessionFactory of(SessionFactoryImplementor applications) {
        SessionFactoryOptions options = applications.getSessionFactoryOptions();
        ServiceRegistry services = options.getServiceRegistry();
        Map<String, Object> settings = new HashMap<>(
                services.requireService(ConfigurationService.class).getSettings());
        settings.keySet().removeIf(key -> NOT_FOR_LOCKS.stream().anyMatch(key::startsWith));
        settings.put(AvailableSettings.JAKARTA_VALIDATION_MODE, "none");
        settings.put(AvailableSettings.USE_SECOND_LEVEL_CACHE, false);
        settings.put(AvailableSettings.USE_QUERY_CACHE, false);
        settings.put("hibernate.integration.envers.enabled", false);
        settings.put(
                AvailableSettings.CONNECTION_HANDLING, PhysicalConnectionHandlingMode.DELAYED_ACQUISITION_AND_HOLD);
        putIfPresent(
                settings,
                AvailableSettings.DEFAULT_CATALOG,
                applications.getSqlStringGenerationContext().getDefaultCatalog());
        putIfPresent(
                settings,
                AvailableSettings.DEFAULT_SCHEMA,
                applications.getSqlStringGenerationContext().getDefaultSchema());
        StandardServiceRegistryBuilder registry =
                new StandardServiceRegistryBuilder(new BootstrapServiceRegistryBuilder()
                        .applyClassLoader(LockEntity.class.getClassLoader())
                        .build());
        registry.clearSettings();
        registry.applySettings(settings);
        // The dialect and what the driver has told, so that no connection is needed to ask again.
        registry.addService(JdbcEnvironment.class, services.requireService(JdbcEnvironment.class));
        registry.addService(ConnectionProvider.class, new Borrowed(services.requireService(ConnectionProvider.class)));
        SessionFactoryBuilder builder = new MetadataSources(registry.build())
                .addAnnotatedClasses(LockEntity.ENTITIES.toArray(Class<?>[]::new))
                .buildMetadata()
                .getSessionFactoryBuilder();
        builder.applyStatementInspector(options.getStatementInspector());
        return builder.build();
    }

    private static void putIfPresent(Map<String, Object> settings, String key, @Nullable Identifier value) {
        if (value != null) {
            settings.put(key, value.render());
        }
    }

    /** The application's connections. Unlike the provider itself, this does not end with the second factory. */
    private static final class Borrowed implements ConnectionProvider {

        private static final long serialVersionUID = 1L;

        private final transient ConnectionProvider provider;

        Borrowed(ConnectionProvider provider) {
            this.provider = provider;
        }

        @Override
        public Connection getConnection() throws SQLException {
            return provider.getConnection();
        }

        @Override
        public void closeConnection(Connection connection) throws SQLException {
            provider.closeConnection(connection);
        }

        @Override
        public boolean supportsAggressiveRelease() {
            return provider.supportsAggressiveRelease();
        }

        @Override
        public boolean isUnwrappableAs(Class<?> type) {
            return provider.isUnwrappableAs(type);
        }

        @Override
        public <T> T unwrap(Class<T> type) {
            return provider.unwrap(type);
        }
    }
}
