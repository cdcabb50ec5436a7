package io.github.holdfast.annotation;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.util.stream.Stream;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.transaction.PlatformTransactionManager;

/** What a Spring application without Spring Boot has: a pool, a persistence unit, transactions and a lock service. */
@Configuration(proxyBeanMethods = false)
@Import({LockedConfiguration.class, NodeUnit.class})
class Node {

    /** An application of these classes on a database, as if in a process of its own. */
    static AnnotationConfigApplicationContext on(Database database, Class<?>... classes) {
        LockSchema.on(database.dataSource()).createIfMissing();
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        context.registerBean(Database.class, () -> database, definition -> definition.setDestroyMethodName(""));
        context.register(Node.class);
        Stream.of(classes).forEach(context::register);
        context.refresh();
        return context;
    }

    @Bean
    HikariDataSource dataSource(Database database) {
        return database.pool(pool -> pool.setMaximumPoolSize(5));
    }

    @Bean
    EntityManager entityManager(EntityManagerFactory unit) {
        return SharedEntityManagerCreator.createSharedEntityManager(unit);
    }

    @Bean
    JpaTransactionManager transactionManager(EntityManagerFactory unit) {
        return new JpaTransactionManager(unit);
    }

    @Bean
    LockService lockService(
            EntityManagerFactory unit,
            PlatformTransactionManager transactions,
            ObjectProvider<LockListener> listeners) {
        var builder = LockService.builder(unit).transactionManager(transactions).withoutHousekeeping();
        listeners.forEach(builder::listener);
        return builder.build();
    }
}
