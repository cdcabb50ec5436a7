package io.github.holdfast.service.engine.runtime;

import java.util.function.BooleanSupplier;

/** The phase of a service: open, closing, or closed. It never goes back. Thread-safe. */
public final class ServicePhase {

    private final BooleanSupplier holdsLocks;
    private volatile boolean isDraining;
    private volatile boolean isClosed;

    /**
     * An open service.
     *
     * @param holdsLocks whether the calling thread holds a lock of the service
     */
    public ServicePhase(BooleanSupplier holdsLocks) {
        this.holdsLocks = holdsLocks;
    }

    /** From here on, only threads that hold a lock may acquire others. */
    public void drain() {
        isDraining = true;
    }

    /** From here on, no thread acquires a lock. */
    public void close() {
        isClosed = true;
    }

    public boolean isClosed() {
        return isClosed;
    }

    /** Whether threads that hold nothing may acquire locks. */
    public boolean isAccepting() {
        return !isDraining && !isClosed;
    }

    /**
     * Checks that the service is open.
     *
     * @throws IllegalStateException if it is closed
     */
    public void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("The lock service is closed");
        }
    }

    /**
     * Checks that the calling thread may acquire locks.
     *
     * @throws IllegalStateException if the service is closed, or if it is closing and the thread holds no lock
     */
    public void checkAccepting() {
        checkOpen();
        if (isDraining && !holdsLocks.getAsBoolean()) {
            throw new IllegalStateException(
                    "The lock service is being closed: only threads that hold a lock may acquire another one");
        }
    }
}
