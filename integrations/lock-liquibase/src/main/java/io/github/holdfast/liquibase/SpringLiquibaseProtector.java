package io.github.holdfast.liquibase;

import java.time.Duration;
import java.util.function.Function;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.integration.spring.Customizer;
import liquibase.integration.spring.SpringLiquibase;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.PriorityOrdered;
import org.springframework.core.env.Environment;

/**
 * Protects what each {@link SpringLiquibase} runs on a supported database, with connections of its own data source. It binds the
 * properties itself: other beans that it needed would be created too early. It comes before processors without this order, whose
 * creation may need the tables, and so run Liquibase.
 */
final class SpringLiquibaseProtector implements BeanPostProcessor, PriorityOrdered {

    private static final Logger LOG = LoggerFactory.getLogger(SpringLiquibaseProtector.class);

    private final Environment environment;

    SpringLiquibaseProtector(Environment environment) {
        this.environment = environment;
    }

    @Override
    public int getOrder() {
        return LOWEST_PRECEDENCE;
    }

    @Override
    public Object postProcessBeforeInitialization(Object bean, String beanName) {
        if (bean instanceof SpringLiquibase liquibase) {
            Customizer<Liquibase> own = liquibase.getCustomizer();
            liquibase.setCustomizer(run -> {
                if (own != null) {
                    own.customize(run);
                }
                protect(run.getDatabase(), liquibase);
            });
        }
        return bean;
    }

    private void protect(Database database, SpringLiquibase liquibase) {
        String product = database.getDatabaseProductName();
        if (SqlDialect.isSupported(product)) {
            lock(liquibase).protect(database);
        } else {
            LOG.info("Liquibase has its own lock on {}, because Holdfast does not support this database", product);
        }
    }

    private LiquibaseLock lock(SpringLiquibase liquibase) {
        Binder properties = Binder.get(environment);
        Duration lease = properties
                .bindOrCreate("holdfast.liquibase", LiquibaseLockProperties.class)
                .lease();
        Duration clockTolerance =
                properties.bind("holdfast.clock-tolerance", Duration.class).orElse(Duration.ofMillis(100));
        String application =
                environment.getProperty("holdfast.application", environment.getProperty("spring.application.name", ""));
        LiquibaseLock lock = LiquibaseLock.on(liquibase.getDataSource()).application(application);
        lock = with("holdfast.clock-tolerance", clockTolerance, lock::clockTolerance);
        return with("holdfast.liquibase.lease", lease, lock::lease);
    }

    private static LiquibaseLock with(String property, Duration value, Function<Duration, LiquibaseLock> wither) {
        try {
            return wither.apply(value);
        } catch (IllegalArgumentException refused) {
            throw new InvalidConfigurationPropertyValueException(property, value, refused.getMessage());
        }
    }
}
