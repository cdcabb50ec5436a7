package io.github.holdfast.annotation;

import org.jspecify.annotations.Nullable;

/** An application would not lock what its annotations say; it says which bean and method, why, and what to do. */
final class LockAnnotationException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    LockAnnotationException(String message) {
        super(message);
    }

    LockAnnotationException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
