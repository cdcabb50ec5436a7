package io.github.holdfast.annotation;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.EntityManagerFactory;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The persistence unit of a {@link Node}. */
@Configuration(proxyBeanMethods = false)
class NodeUnit {

    @Bean
    EntityManagerFactory entityManagerFactory(HikariDataSource dataSource) {
        return new HibernatePersistenceConfiguration("locks")
                .managedClasses(LockEntity.ENTITIES)
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, dataSource)
                .createEntityManagerFactory();
    }
}
