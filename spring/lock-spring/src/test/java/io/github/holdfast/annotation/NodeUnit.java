package io.github.holdfast.annotation;

import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.EntityManagerFactory;
import javax.sql.DataSource;
import org.hibernate.jpa.HibernatePersistenceProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;

/** The persistence unit of a {@link Node}, and of other tests. It is made with what Hibernate 6.6 has, too. */
@Configuration(proxyBeanMethods = false)
public class NodeUnit {

    @Bean
    EntityManagerFactory entityManagerFactory(HikariDataSource dataSource) {
        return on(dataSource);
    }

    /** Returns a persistence unit with the lock's entities only. */
    public static EntityManagerFactory on(DataSource dataSource) {
        LocalContainerEntityManagerFactoryBean unit = new LocalContainerEntityManagerFactoryBean();
        unit.setPersistenceUnitName("locks");
        unit.setPersistenceProviderClass(HibernatePersistenceProvider.class);
        unit.setMappingResources("META-INF/holdfast-orm.xml");
        unit.setDataSource(dataSource);
        unit.afterPropertiesSet();
        return unit.getNativeEntityManagerFactory();
    }
}
