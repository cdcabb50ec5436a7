package example.tenants;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Locale;
import javax.sql.DataSource;
import org.hibernate.engine.jdbc.connections.spi.AbstractDataSourceBasedMultiTenantConnectionProviderImpl;
import org.springframework.boot.hibernate.autoconfigure.HibernatePropertiesCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** Leads each tenant to its schema. */
@Configuration(proxyBeanMethods = false)
class TenantSchemas {

    @Bean
    HibernatePropertiesCustomizer tenants(DataSource dataSource, CurrentTenant current) {
        return properties -> {
            properties.put("hibernate.multi_tenant_connection_provider", new Connections(dataSource));
            properties.put("hibernate.tenant_identifier_resolver", current);
        };
    }

    private static final class Connections extends AbstractDataSourceBasedMultiTenantConnectionProviderImpl<String> {

        private static final long serialVersionUID = 1L;

        private final transient DataSource pool;

        Connections(DataSource pool) {
            this.pool = pool;
        }

        @Override
        protected DataSource selectAnyDataSource() {
            return pool;
        }

        @Override
        protected DataSource selectDataSource(String tenant) {
            return new DelegatingDataSource(pool) {
                @Override
                public Connection getConnection() throws SQLException {
                    Connection connection = super.getConnection();
                    // The connection stays in this schema, so nothing else may use this pool without setting one.
                    connection.setSchema(tenant.toUpperCase(Locale.ROOT));
                    return connection;
                }
            };
        }
    }
}
