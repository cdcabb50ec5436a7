package io.github.holdfast.annotation;

import com.zaxxer.hikari.HikariDataSource;
import org.hibernate.jpa.HibernatePersistenceProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;

/** The persistence unit of a {@link Node}, without what Hibernate 7 alone has. */
@Configuration(proxyBeanMethods = false)
class NodeUnit {

    @Bean
    LocalContainerEntityManagerFactoryBean entityManagerFactory(HikariDataSource dataSource) {
        LocalContainerEntityManagerFactoryBean unit = new LocalContainerEntityManagerFactoryBean();
        unit.setPersistenceProviderClass(HibernatePersistenceProvider.class);
        unit.setMappingResources("META-INF/holdfast-orm.xml");
        unit.setDataSource(dataSource);
        return unit;
    }
}
