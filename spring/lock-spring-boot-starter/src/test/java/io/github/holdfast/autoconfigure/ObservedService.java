package io.github.holdfast.autoconfigure;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.annotation.NodeUnit;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.Database;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

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
        return NodeUnit.on(dataSource);
    }

    @Bean
    LockService lockService(EntityManagerFactory unit, ObjectProvider<LockListener> listeners) {
        LockServiceBuilder builder =
                LockService.builder(unit).nodeLease(Duration.ofSeconds(6)).withoutHousekeeping();
        listeners.forEach(builder::listener);
        return builder.build();
    }
}
