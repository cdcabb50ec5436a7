package io.github.holdfast.autoconfigure;

import java.util.Locale;
import org.hibernate.tool.schema.spi.SchemaManagementException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Prints the remedy if a column of the locks is not as Hibernate expects it. {@link LockSchemaInitializer} has found the tables before
 * Hibernate looks at their columns, unless the unit was built out of its sight.
 */
final class LockTableFailureAnalyzer extends AbstractFailureAnalyzer<SchemaManagementException> {

    private static final String DIFFERS = """
            A lock table is missing, of another version, or was created by hand. Apply the changes since that version, or compare it with \
            the SQL for this persistence unit, which is written to a file by

                holdfast.schema.script=<file>""";

    @Override
    protected @Nullable FailureAnalysis analyze(Throwable rootFailure, SchemaManagementException cause) {
        String message = String.valueOf(cause.getMessage());
        return LockEntities.tables().anyMatch(table -> letters(message).contains(letters(table)))
                ? new FailureAnalysis("Hibernate could not validate the lock tables: " + message, DIFFERS, cause)
                : null;
    }

    /** A naming strategy may have changed the rest. */
    private static String letters(String name) {
        return name.replace("_", "").toLowerCase(Locale.ROOT);
    }
}
