package io.github.holdfast.test;

import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;
import org.opentest4j.TestAbortedException;

/**
 * Supplies the {@link Database} of the nearest class with {@link OnDatabase} or {@link OnEachDatabase}.
 *
 * <p>The server starts in a condition, not in a {@code beforeAll}. Reports show a class disabled by a condition, with the reason.
 * But surefire omits an aborted class.
 */
final class OnDatabaseExtension implements ExecutionCondition, ParameterResolver {

    private static final Namespace NAMESPACE = Namespace.create(OnDatabaseExtension.class);

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        return kind(context)
                .map(OnDatabaseExtension::start)
                .orElseGet(() -> ConditionEvaluationResult.enabled("It is the class that has the database"));
    }

    private static ConditionEvaluationResult start(TestDatabase kind) {
        Coverage coverage = Coverage.ofThisJvm();
        try {
            coverage.started(kind, Servers.of(kind).version());
            return ConditionEvaluationResult.enabled(kind.label() + " runs");
        } catch (TestAbortedException e) {
            String reason = String.valueOf(e.getMessage());
            coverage.problem(kind, reason);
            return ConditionEvaluationResult.disabled(reason);
        } catch (IllegalStateException e) {
            coverage.problem(kind, String.valueOf(e.getMessage()));
            throw e;
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Database.class;
    }

    @Override
    public Database resolveParameter(ParameterContext parameter, ExtensionContext context) {
        ExtensionContext owner = owner(context);
        // The type must not be the key, because a store also returns the values of outer classes.
        return owner.getStore(NAMESPACE)
                .computeIfAbsent(
                        owner.getUniqueId(), id -> Database.create(kind(owner).orElseThrow()), Database.class);
    }

    private static ExtensionContext owner(ExtensionContext context) {
        ExtensionContext candidate = context;
        while (kind(candidate).isEmpty()) {
            candidate = candidate
                    .getParent()
                    .orElseThrow(() -> new IllegalStateException(
                            "No @OnDatabase or @OnEachDatabase around " + context.getDisplayName()));
        }
        return candidate;
    }

    /** Returns the kind that this context's own class asks for. The context of a method has none. */
    private static Optional<TestDatabase> kind(ExtensionContext context) {
        return AnnotationSupport.findAnnotation(context.getElement(), OnDatabase.class)
                .map(OnDatabase::value)
                .or(() -> AnnotationSupport.findAnnotation(context.getElement(), OnEachDatabase.class)
                        .map(each -> kindOfRun(context)));
    }

    private static TestDatabase kindOfRun(ExtensionContext context) {
        return EachDatabaseEngine.kind(context::getConfigurationParameter)
                .orElseThrow(() -> new IllegalStateException(
                        "@OnEachDatabase is for top-level classes: " + context.getDisplayName()));
    }
}
