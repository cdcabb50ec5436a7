package io.github.holdfast.annotation;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Prints which annotation is wrong, instead of a stack trace. */
final class LockAnnotationFailureAnalyzer extends AbstractFailureAnalyzer<LockAnnotationException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, LockAnnotationException cause) {
        return new FailureAnalysis(
                cause.getMessage(),
                "Change the annotation, or the method or bean that it is on, as the description says. An application in which a"
                        + " method would run without its lock does not start.",
                cause);
    }
}
