package io.github.holdfast.annotation;

import io.github.holdfast.service.LockService;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;

/**
 * The lock service of annotated methods. It is looked up once: after the end of the application context, a bean factory would create a second
 * one, with its persistence unit and its pool, that is never closed. Thread-safe.
 */
final class UsedLockService implements Supplier<LockService>, DisposableBean {

    private final ObjectProvider<LockService> services;
    private volatile @Nullable LockService found;
    private volatile boolean isClosed;

    UsedLockService(ObjectProvider<LockService> services) {
        this.services = services;
    }

    /**
     * Returns the service.
     *
     * @throws IllegalStateException if the application context was closed before the first call
     */
    @Override
    public LockService get() {
        LockService used = found;
        if (used == null) {
            checkOpen();
            used = services.getObject();
            if (isClosed) {
                used.close();
            }
            checkOpen();
            found = used;
        }
        return used;
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("The application context is closed: nothing can be locked any more");
        }
    }

    @Override
    public void destroy() {
        isClosed = true;
    }
}
