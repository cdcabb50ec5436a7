package io.github.holdfast.autoconfigure;

import org.hibernate.tool.schema.spi.SchemaManagementException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says what to do when Hibernate, which looks before Holdfast does, misses a table of the locks. */
final class LockTableFailureAnalyzer extends AbstractFailureAnalyzer<SchemaManagementException> {

    @Override
    protected @Nullable FailureAnalysis analyze(Throwable rootFailure, SchemaManagementException cause) {
        String message = String.valueOf(cause.getMessage());
        return LockEntities.tables().anyMatch(message::contains)
                ? new FailureAnalysis(
                        "Hibernate validates the tables of the locks: " + message, LockSetup.CREATE_TABLES, cause)
                : null;
    }
}
