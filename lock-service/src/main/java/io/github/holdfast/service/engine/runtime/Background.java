package io.github.holdfast.service.engine.runtime;

/** Does work in the background. Exceptions of the work are logged. Thread-safe. */
public interface Background {

    /** Does the work soon. */
    void soon(Runnable work);

    /** As {@link #soon}, after a pause. */
    void later(Runnable work);
}
