package io.github.holdfast.autoconfigure;

import io.github.holdfast.service.LockServiceBuilder;

/**
 * Customizes the builder of the auto-configured {@code LockService}. Define a bean of this type. Spring Boot calls it last, after
 * it has set {@code holdfast.*}, the transaction manager, the lock data source and the {@code LockListener} beans. So the
 * customizer can override them. Several customizers are called in their order.
 */
@FunctionalInterface
public interface LockServiceBuilderCustomizer {

    /**
     * Changes the builder.
     *
     * @param builder the builder of the service; do not call {@code build()}, which follows later
     */
    void customize(LockServiceBuilder builder);
}
