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
 * The archive, with a lock service of its own. Its beans are found by their qualifier only. So the starter still makes its
 * lock service, which is the one for {@code @Locked} and for everybody who asks for one without the qualifier.
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
        // Before Hibernate sees them among its entities. A real application has Liquibase or Flyway for all tables.
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

    /** Has its own locks: a lock of the orders with the same name is another one. The starter closes it, too. */
    @Bean(defaultCandidate = false)
    @Qualifier(ARCHIVE)
    LockService archiveLocks(
            @Qualifier(ARCHIVE) EntityManagerFactory archive, @Qualifier(ARCHIVE) JpaTransactionManager transactions) {
        return LockService.builder(archive).transactionManager(transactions).build();
    }
}
