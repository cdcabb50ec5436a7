package io.github.holdfast.annotation;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import javax.sql.DataSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.support.PropertySourcesPlaceholderConfigurer;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/** An application with a lock service on the database that the environment names: {@code url}, {@code user}, {@code password}. */
@Configuration(proxyBeanMethods = false)
@EnableTransactionManagement
@Import(ScheduledLockConfiguration.class)
class ScheduledLockSupport {

    @Bean
    static PropertySourcesPlaceholderConfigurer placeholders() {
        return new PropertySourcesPlaceholderConfigurer();
    }

    @Bean
    HikariDataSource dataSource(Environment environment) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(environment.getRequiredProperty("url"));
        config.setUsername(environment.getRequiredProperty("user"));
        config.setPassword(environment.getRequiredProperty("password"));
        config.setMaximumPoolSize(5);
        HikariDataSource dataSource = new HikariDataSource(config);
        LockSchema.on(dataSource).createIfMissing();
        return dataSource;
    }

    @Bean
    JdbcTemplate jdbc(DataSource dataSource) {
        return new JdbcTemplate(dataSource);
    }

    @Bean
    LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
        LocalContainerEntityManagerFactoryBean unit = new LocalContainerEntityManagerFactoryBean();
        unit.setDataSource(dataSource);
        unit.setPackagesToScan(LockEntity.class.getPackageName());
        unit.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
        return unit;
    }

    @Bean
    JpaTransactionManager transactionManager(EntityManagerFactory unit) {
        return new JpaTransactionManager(unit);
    }

    @Bean
    LockService locks(EntityManagerFactory unit, JpaTransactionManager transactionManager, Environment environment) {
        Duration nodeLease = Duration.parse(environment.getProperty("node.lease", "PT30S"));
        return LockService.builder(unit)
                .transactionManager(transactionManager)
                .nodeLease(nodeLease)
                .build();
    }
}
