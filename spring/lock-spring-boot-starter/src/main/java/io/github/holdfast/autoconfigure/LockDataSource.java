package io.github.holdfast.autoconfigure;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.beans.factory.annotation.Qualifier;

/**
 * Marks the {@code DataSource} bean for lock operations. They use this bean instead of the persistence unit's data source.
 * Usually it is a small separate pool on the same database. Then heartbeats continue even if all of the application's connections
 * are in use. If the starter creates the tables of the locks, it uses this bean, too. A check at start-up verifies that the bean
 * leads to the database of the persistence unit.
 *
 * <p>{@code holdfast.datasource.*} creates such a pool without a bean. A bean takes precedence over these properties.
 *
 * <pre>{@code
 * @Bean(defaultCandidate = false)
 * @LockDataSource
 * DataSource lockPool() { ... }
 * }</pre>
 */
@Documented
@Qualifier
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.FIELD, ElementType.PARAMETER, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
public @interface LockDataSource {}
