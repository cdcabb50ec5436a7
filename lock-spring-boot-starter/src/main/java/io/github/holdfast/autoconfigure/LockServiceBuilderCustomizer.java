package io.github.holdfast.autoconfigure;

import io.github.holdfast.service.LockServiceBuilder;

/**
 * Changes how the auto-configured {@code LockService} is built. A bean of this type is called after {@code holdfast.*}, the
 * transaction manager, the lock data source and the {@code LockListener} beans have been set, and so has the last word; of
 * several, in their order.
 */
@FunctionalInterface
public interface LockServiceBuilderCustomizer {

    /**
     * Changes the builder.
     *
     * @param builder of the service; {@code build()} is called afterwards, not here
     */
    void customize(LockServiceBuilder builder);
}
