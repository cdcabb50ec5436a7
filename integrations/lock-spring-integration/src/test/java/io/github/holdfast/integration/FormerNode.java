package io.github.holdfast.integration;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.Database;
import java.time.Duration;
import javax.sql.DataSource;
import org.springframework.core.io.ClassPathResource;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** What a node has before the migration: Spring Integration's registry on its own table. */
final class FormerNode implements AutoCloseable {

    private final HikariDataSource pool;
    private final DefaultLockRepository repository;
    private final JdbcLockRegistry registry;

    private FormerNode(HikariDataSource pool, Duration ttl) {
        this.pool = pool;
        repository = new DefaultLockRepository(pool);
        repository.setTransactionManager(new JdbcTransactionManager(pool));
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        repository.start();
        registry = new JdbcLockRegistry(repository, ttl);
        registry.setIdleBetweenTries(Duration.ofMillis(10));
    }

    /** Creates the tables of Spring Integration. */
    static void createTables(Database database) {
        String script = switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "h2";
            case POSTGRESQL -> "postgresql";
            case MARIADB, MYSQL -> "mysql";
        };
        new ResourceDatabasePopulator(
                        new ClassPathResource("org/springframework/integration/jdbc/schema-" + script + ".sql"))
                .execute(database.dataSource());
    }

    static FormerNode on(Database database) {
        return on(database, Duration.ofMinutes(1));
    }

    static FormerNode on(Database database, Duration ttl) {
        return new FormerNode(database.pool(pool -> {}), ttl);
    }

    static FormerNode over(Database database, DataSource source) {
        return new FormerNode(database.pool(pool -> pool.setDataSource(source)), Duration.ofMinutes(1));
    }

    JdbcLockRegistry registry() {
        return registry;
    }

    @Override
    public void close() {
        repository.stop();
        pool.close();
    }
}
