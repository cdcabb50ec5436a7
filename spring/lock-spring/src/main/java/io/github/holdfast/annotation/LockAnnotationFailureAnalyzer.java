package io.github.holdfast.annotation;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Makes Spring Boot print the wrong annotation instead of a stack trace. */
final class LockAnnotationFailureAnalyzer extends AbstractFailureAnalyzer<LockAnnotationException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, LockAnnotationException cause) {
        return new FailureAnalysis(
                cause.getMessage(),
                "Change the annotation, or its method or bean, as described. Holdfast does not start an application in"
                        + " which a method would run without its lock or permits.",
                cause);
    }
}
