package io.github.holdfast.test;

import static org.junit.platform.commons.support.AnnotationSupport.findAnnotation;

import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.opentest4j.TestAbortedException;

/**
 * Counts the tests that ran, and the tests skipped because something is {@link Unavailable}. Reports the {@link Coverage} at the
 * end. JUnit finds this listener by its {@link java.util.ServiceLoader} file. An extension would not be enough, because it does
 * not see skipped classes.
 */
public final class CoverageListener implements LauncherSessionListener {

    /** Called by JUnit. */
    public CoverageListener() {}

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        session.getLauncher().registerTestExecutionListeners(new Counter());
    }

    @Override
    public void launcherSessionClosed(LauncherSession session) {
        Coverage.ofThisJvm().tell();
    }

    private static final class Counter implements TestExecutionListener {

        private @Nullable TestPlan plan;

        @Override
        public void testPlanExecutionStarted(TestPlan started) {
            plan = started;
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            Coverage.ofThisJvm().skipped(reason, tests(test));
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (result.getStatus() != Status.ABORTED) {
                if (test.isTest()) {
                    ran(test);
                }
            } else {
                result.getThrowable()
                        .filter(TestAbortedException.class::isInstance)
                        .map(Throwable::getMessage)
                        .ifPresent(reason -> Coverage.ofThisJvm().skipped(reason, tests(test)));
            }
        }

        private TestPlan plan() {
            return Objects.requireNonNull(plan, "started");
        }

        private void ran(TestIdentifier test) {
            String outermost = "";
            Optional<TestIdentifier> candidate = Optional.of(test);
            while (candidate.isPresent()) {
                if (candidate.get().getSource().orElse(null) instanceof ClassSource source) {
                    Class<?> type = source.getJavaClass();
                    Optional<TestDatabase> database = findAnnotation(type, OnDatabase.class)
                            .map(OnDatabase::value)
                            .or(() -> findAnnotation(type, OnEachDatabase.class)
                                    .flatMap(each -> EachDatabaseEngine.kind(test.getUniqueIdObject())));
                    if (database.isPresent()) {
                        Coverage.ofThisJvm().ran(database.get());
                        return;
                    }
                    outermost = source.getJavaClass().getSimpleName();
                }
                candidate = plan().getParent(candidate.get());
            }
            Coverage.ofThisJvm().ran(outermost);
        }

        /** Returns the number of tests in a container, as far as known. The number of repetitions is unknown. */
        private int tests(TestIdentifier test) {
            Set<TestIdentifier> children = plan().getChildren(test);
            return children.isEmpty()
                    ? 1
                    : children.stream().mapToInt(this::tests).sum();
        }
    }
}
