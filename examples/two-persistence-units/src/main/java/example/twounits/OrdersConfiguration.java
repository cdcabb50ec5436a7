package example.twounits;

import jakarta.persistence.EntityManagerFactory;
import javax.sql.DataSource;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.jpa.EntityManagerFactoryBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;

/**
 * The orders: the data source, and the persistence unit that {@code holdfast.jpa.persistence-unit} names. The starter adds the
 * entities of the locks to this unit, creates their tables, and creates the lock service.
 */
@Configuration(proxyBeanMethods = false)
class OrdersConfiguration {

    @Bean
    @ConfigurationProperties("orders.datasource")
    DataSource ordersDataSource() {
        return DataSourceBuilder.create().build();
    }

    @Bean
    LocalContainerEntityManagerFactoryBean orders(EntityManagerFactoryBuilder builder, DataSource ordersDataSource) {
        return builder.dataSource(ordersDataSource)
                .managedTypes(PersistenceManagedTypes.of(PurchaseOrder.class.getName()))
                .persistenceUnit("orders")
                .build();
    }

    @Bean
    JpaTransactionManager ordersTransactions(EntityManagerFactory orders) {
        return new JpaTransactionManager(orders);
    }
}
