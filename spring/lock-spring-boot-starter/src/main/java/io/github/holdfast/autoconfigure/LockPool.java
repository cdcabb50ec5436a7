package io.github.holdfast.autoconfigure;

import com.zaxxer.hikari.HikariConfigMXBean;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.jdbc.DataSourceUnwrapper;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.util.StringUtils;

/**
 * The pool of {@code holdfast.datasource.*}: a small copy of the application's pool. Its {@code DataSource} is not a bean. Test
 * slices replace a data source bean only if there is exactly one.
 */
final class LockPool implements AutoCloseable {

    private static final String PREFIX = "holdfast.datasource";

    private static final String URL_OR_BEAN = """
            Set its connection:

                holdfast.datasource.url=<JDBC URL of the same database>
                holdfast.datasource.username=<user>
                holdfast.datasource.password=<password>

            or annotate a DataSource bean with @LockDataSource.""";

    private final HikariDataSource dataSource;

    private LockPool(HikariDataSource dataSource) {
        this.dataSource = dataSource;
    }

    /**
     * Returns the pool.
     *
     * @throws LockSetupException if its database is not known: the application has no data source, or several and no primary one
     */
    HikariDataSource dataSource() {
        if (dataSource.getJdbcUrl() == null
                && dataSource.getDataSource() == null
                && dataSource.getDataSourceClassName() == null
                && dataSource.getDataSourceJNDI() == null) {
            throw new LockSetupException(
                    PREFIX + ".* is set, but there is no data source to copy, or several and no primary one",
                    URL_OR_BEAN);
        }
        return dataSource;
    }

    @Override
    public void close() {
        dataSource.close();
    }

    static LockPool create(HoldfastProperties.Datasource properties, @Nullable DataSource application) {
        HikariDataSource pool = copyOf(application, properties);
        pool.setPoolName("holdfast");
        if (properties.url() != null) {
            pool.setDataSource(null);
            pool.setDataSourceClassName(null);
            pool.setDataSourceJNDI(null);
            pool.setJdbcUrl(properties.url());
        }
        if (properties.username() != null) {
            pool.setUsername(properties.username());
        }
        if (properties.password() != null) {
            pool.setPassword(properties.password());
        }
        HoldfastProperties.set(PREFIX + ".maximum-pool-size", properties.maximumPoolSize(), pool::setMaximumPoolSize);
        pool.setMinimumIdle(properties.maximumPoolSize());
        HoldfastProperties.set(
                PREFIX + ".connection-timeout",
                properties.connectionTimeout(),
                timeout -> setConnectionTimeout(pool, timeout));
        return new LockPool(pool);
    }

    private static void setConnectionTimeout(HikariDataSource pool, Duration timeout) {
        if (timeout.toMillis() == 0) {
            throw new IllegalArgumentException("HikariCP would wait forever: it must be 250ms or longer");
        }
        pool.setConnectionTimeout(timeout.toMillis());
    }

    /**
     * Copies all settings of the application's pool, because both pools must agree on autoCommit, schema and driver properties.
     */
    private static HikariDataSource copyOf(@Nullable DataSource application, HoldfastProperties.Datasource properties) {
        HikariDataSource hikari = application == null
                ? null
                : DataSourceUnwrapper.unwrap(application, HikariConfigMXBean.class, HikariDataSource.class);
        if (hikari != null) {
            HikariDataSource copy =
                    properties.url() == null && properties.username() == null && properties.password() == null
                            ? new SameCredentials(hikari)
                            : new HikariDataSource();
            hikari.copyStateTo(copy);
            return copy;
        }
        if (application == null || properties.url() != null) {
            return new HikariDataSource();
        }
        try {
            return DataSourceBuilder.derivedFrom(application)
                    .type(HikariDataSource.class)
                    .build();
        } catch (RuntimeException underivable) {
            throw new LockSetupException(
                    "The pool for lock operations cannot be derived from the application's data source, a %s (%s)"
                            .formatted(
                                    application.getClass().getName(),
                                    NestedExceptionUtils.getMostSpecificCause(underivable)
                                            .getMessage()),
                    URL_OR_BEAN,
                    underivable);
        }
    }

    /** Connects as the application's pool does at that time: the password may be rotated while the application runs. */
    private static final class SameCredentials extends HikariDataSource {

        private final HikariDataSource application;

        SameCredentials(HikariDataSource application) {
            this.application = application;
        }

        @Override
        public String getUsername() {
            return application.getUsername();
        }

        @Override
        public String getPassword() {
            return application.getPassword();
        }

        @Override
        public Credentials getCredentials() {
            return application.getCredentials();
        }
    }

    /**
     * Matches if any of the properties is set and not blank, and no bean takes precedence. {@code @ConditionalOnMissingBean} would
     * ignore beans that are not default candidates.
     */
    static final class IsWanted extends SpringBootCondition implements ConfigurationCondition {

        @Override
        public ConfigurationPhase getConfigurationPhase() {
            return ConfigurationPhase.REGISTER_BEAN;
        }

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            ConditionMessage.Builder message = ConditionMessage.forCondition("Lock pool");
            List<String> marked = DataSourceBeans.annotatedWith(
                    LockDataSource.class, Objects.requireNonNull(context.getBeanFactory()));
            if (!marked.isEmpty()) {
                return ConditionOutcome.noMatch(message.found("bean").items(marked));
            }
            boolean isAnySet = Binder.get(context.getEnvironment())
                    .bind(PREFIX, Bindable.mapOf(String.class, Object.class))
                    .map(properties ->
                            properties.values().stream().anyMatch(value -> StringUtils.hasText(value.toString())))
                    .orElse(false);
            return isAnySet
                    ? ConditionOutcome.match(message.because(PREFIX + ".* is set"))
                    : ConditionOutcome.noMatch(message.because("no " + PREFIX + ".* is set"));
        }
    }
}
