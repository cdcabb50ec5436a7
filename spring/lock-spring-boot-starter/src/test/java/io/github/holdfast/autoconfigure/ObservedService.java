package io.github.holdfast.autoconfigure;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.Database;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import org.hibernate.jpa.HibernatePersistenceProvider;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;

/** A lock service with all listeners that there are, and a registry. */
@Configuration(proxyBeanMethods = false)
class ObservedService {

    @Bean
    MeterRegistry meterRegistry() {
        return new SimpleMeterRegistry();
    }

    @Bean
    HikariDataSource dataSource(Database database) {
        return database.pool(pool -> pool.setMaximumPoolSize(5));
    }

    @Bean
    EntityManagerFactory entityManagerFactory(HikariDataSource dataSource) {
        LocalContainerEntityManagerFactoryBean unit = new LocalContainerEntityManagerFactoryBean();
        unit.setPersistenceUnitName("locks");
        unit.setPersistenceProviderClass(HibernatePersistenceProvider.class);
        unit.setMappingResources("META-INF/holdfast-orm.xml");
        unit.setDataSource(dataSource);
        unit.afterPropertiesSet();
        return unit.getNativeEntityManagerFactory();
    }

    @Bean
    LockService lockService(EntityManagerFactory unit, ObjectProvider<LockListener> listeners) {
        LockServiceBuilder builder =
                LockService.builder(unit).nodeLease(Duration.ofSeconds(6)).withoutHousekeeping();
        listeners.forEach(builder::listener);
        return builder.build();
    }
}
