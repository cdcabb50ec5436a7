package io.github.holdfast.autoconfigure;

import org.hibernate.tool.schema.spi.SchemaManagementException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Prints the remedy if Hibernate does not find a table of the locks. Hibernate checks the tables before Holdfast does. */
final class LockTableFailureAnalyzer extends AbstractFailureAnalyzer<SchemaManagementException> {

    @Override
    protected @Nullable FailureAnalysis analyze(Throwable rootFailure, SchemaManagementException cause) {
        String message = String.valueOf(cause.getMessage());
        return LockEntities.tables().anyMatch(message::contains)
                ? new FailureAnalysis(
                        "Hibernate could not validate the lock tables: " + message, LockSetup.CREATE_TABLES, cause)
                : null;
    }
}
