package io.github.holdfast.integration;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties of the lock registry for Spring Integration.
 *
 * @param region the beginning of the names of the registry's locks, before a colon and the key: without a colon. All nodes of
 *     an application need the same
 */
@ConfigurationProperties("holdfast.spring-integration")
record SpringIntegrationProperties(
        @DefaultValue(HoldfastLockRegistry.DEFAULT_REGION) String region) {}
