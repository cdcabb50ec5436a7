package io.github.holdfast.autoconfigure;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.beans.factory.annotation.Qualifier;

/**
 * Marks the {@code DataSource} bean whose connections lock operations use, instead of those of the persistence unit: mostly a
 * small pool of its own on the same database, so that heartbeats go on while the application has all its connections in use.
 * The tables of the locks are created through it too, if the starter creates them. That it leads to the database of the
 * persistence unit is checked at start-up.
 *
 * <p>{@code holdfast.datasource.*} makes such a pool without a bean; a bean takes precedence over that.
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
