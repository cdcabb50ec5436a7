package io.github.holdfast.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Makes Spring Boot print the problem and the line to change, instead of a stack trace. */
final class LockSetupFailureAnalyzer extends AbstractFailureAnalyzer<LockSetupException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, LockSetupException cause) {
        return new FailureAnalysis(cause.getMessage(), cause.action(), cause);
    }
}
