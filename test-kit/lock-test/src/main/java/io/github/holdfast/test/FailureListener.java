package io.github.holdfast.test;

import static org.junit.platform.commons.support.AnnotationSupport.findAnnotation;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Prints each failure of Surefire's tests to the console as soon as it happens, with its database and stack trace: Surefire would
 * print them only together with a line for each class that succeeds. JUnit finds this listener by its {@link
 * java.util.ServiceLoader} file.
 */
public final class FailureListener implements LauncherSessionListener {

    /** Tests run tests that fail on purpose, in sessions of their own. */
    private static final AtomicInteger OPEN_SESSIONS = new AtomicInteger();

    /** Called by JUnit. */
    public FailureListener() {}

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        if (OPEN_SESSIONS.incrementAndGet() == 1 && Boolean.getBoolean("holdfast.test.totals-only")) {
            // Surefire keeps what is printed to System.out for its reports.
            PrintStream console =
                    new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
            session.getLauncher().registerTestExecutionListeners(new Printer(console));
        }
    }

    @Override
    public void launcherSessionClosed(LauncherSession session) {
        OPEN_SESSIONS.decrementAndGet();
    }

    private static final class Printer implements TestExecutionListener {

        private final PrintStream console;
        private @Nullable TestPlan plan;

        Printer(PrintStream console) {
            this.console = console;
        }

        @Override
        public void testPlanExecutionStarted(TestPlan started) {
            plan = started;
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            if (result.getStatus() == Status.FAILED) {
                StringWriter text = new StringWriter();
                PrintWriter writer = new PrintWriter(text);
                writer.println("[ERROR] " + name(test));
                result.getThrowable().ifPresent(thrown -> thrown.printStackTrace(writer));
                // At once, so that no other fork prints in between.
                console.print(text);
            }
        }

        /** Returns the class, the names from there to the test, and the database. */
        private String name(TestIdentifier test) {
            String names = "";
            for (Optional<TestIdentifier> at = Optional.of(test); at.isPresent(); at = plan().getParent(at.get())) {
                if (at.get().getSource().orElse(null) instanceof ClassSource source) {
                    String database = findAnnotation(source.getJavaClass(), OnDatabase.class)
                            .map(OnDatabase::value)
                            .or(() -> EachDatabaseEngine.kind(test.getUniqueIdObject()))
                            .map(kind -> ", on " + kind.label())
                            .orElse("");
                    return source.getClassName() + names + database;
                }
                names = " " + at.get().getDisplayName() + names;
            }
            return names.strip();
        }

        private TestPlan plan() {
            return Objects.requireNonNull(plan, "started");
        }
    }
}
