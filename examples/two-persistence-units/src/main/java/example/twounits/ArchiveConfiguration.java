package example.twounits;

import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import javax.sql.DataSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.jpa.EntityManagerFactoryBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;

/**
 * The archive, with a separate lock service. Only injections with the qualifier find these beans. So the starter still creates
 * its own lock service, for {@code @Locked} and for injections without the qualifier.
 */
@Configuration(proxyBeanMethods = false)
class ArchiveConfiguration {

    static final String ARCHIVE = "archive";

    @Bean(defaultCandidate = false)
    @Qualifier(ARCHIVE)
    @ConfigurationProperties("archive.datasource")
    DataSource archiveDataSource() {
        return DataSourceBuilder.create().build();
    }

    @Bean(defaultCandidate = false)
    @Qualifier(ARCHIVE)
    LocalContainerEntityManagerFactoryBean archive(
            EntityManagerFactoryBuilder builder, @Qualifier(ARCHIVE) DataSource dataSource) {
        // Creates the tables before Hibernate finds the entities of the locks. A real application uses Liquibase or
        // Flyway for all tables.
        LockSchema.on(dataSource).createIfMissing();
        return builder.dataSource(dataSource)
                .managedTypes(PersistenceManagedTypes.of(ArchivedOrder.class.getName()))
                .mappingResources("META-INF/holdfast-orm.xml") // the entities of the locks
                .persistenceUnit(ARCHIVE)
                .build();
    }

    @Bean(defaultCandidate = false)
    @Qualifier(ARCHIVE)
    JpaTransactionManager archiveTransactions(@Qualifier(ARCHIVE) EntityManagerFactory archive) {
        return new JpaTransactionManager(archive);
    }

    /**
     * This service has its own locks. A lock of the orders with the same name is another lock. The starter closes this service,
     * too.
     */
    @Bean(defaultCandidate = false)
    @Qualifier(ARCHIVE)
    LockService archiveLocks(
            @Qualifier(ARCHIVE) EntityManagerFactory archive, @Qualifier(ARCHIVE) JpaTransactionManager transactions) {
        return LockService.builder(archive).transactionManager(transactions).build();
    }
}
