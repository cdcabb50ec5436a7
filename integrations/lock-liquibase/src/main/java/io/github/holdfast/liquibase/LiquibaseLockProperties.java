package io.github.holdfast.liquibase;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties of the lock of Liquibase.
 *
 * @param enabled whether runs of Liquibase take a lock with a lease instead of Liquibase's own
 * @param lease how long the lock outlives its process: 1 second to 1 day, and shorter than Liquibase's wait for the lock, which is 5
 *     minutes by default
 */
@ConfigurationProperties("holdfast.liquibase")
record LiquibaseLockProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue("60s") Duration lease) {}
