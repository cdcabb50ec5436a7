package io.github.holdfast.annotation;

import org.jspecify.annotations.Nullable;

/** Thrown for an annotation that cannot apply to its method. The message names the bean, the method, the reason and the remedy. */
final class LockAnnotationException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    LockAnnotationException(String message) {
        super(message);
    }

    LockAnnotationException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
