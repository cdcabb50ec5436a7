package io.github.holdfast.faults.mutations;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;
import static org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder.request;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherFactory;

/** The program of a process that runs tests. */
final class TestRunner {

    private TestRunner() {}

    /** Arguments: the file for the outcome, then tests as {@code package.Class#method} or {@code package.Class[database]#method}. */
    public static void main(String[] args) throws Exception {
        List<String> lines = new ArrayList<>();
        List<? extends DiscoverySelector> tests =
                Arrays.stream(args).skip(1).map(TestRunner::selector).toList();
        LauncherDiscoveryRequest oneAfterAnother = request()
                .selectors(tests)
                .filters(onDatabases(Set.of(args)))
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .build();
        LauncherFactory.create().execute(oneAfterAnother, new TestExecutionListener() {
            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                if (test.isTest() || result.getStatus() != Status.SUCCESSFUL) {
                    lines.add(Outcome.line(test, result));
                }
            }

            @Override
            public void executionSkipped(TestIdentifier test, String reason) {
                lines.add(Outcome.SKIPPED + test.getUniqueId() + ": " + reason);
            }
        });
        Files.write(Path.of(args[0]), lines);
        // Whatever threads a bug has left.
        System.exit(0);
    }

    /** Leaves out the other databases of a class: they would be skipped, or fail on a build server. */
    private static PostDiscoveryFilter onDatabases(Set<String> tests) {
        return test -> FilterResult.includedIf(test.getUniqueId().getSegments().stream()
                .filter(segment -> segment.getType().equals("run"))
                .allMatch(run -> test.getSource().orElse(null) instanceof MethodSource source
                        && tests.contains(run.getValue() + "#" + source.getMethodName())));
    }

    private static DiscoverySelector selector(String test) {
        String[] parts = test.split("#", 2);
        try {
            Class<?> type = Class.forName(parts[0].replaceFirst("\\[.*", ""));
            return ReflectionSupport.findMethods(
                            type, method -> method.getName().equals(parts[1]), HierarchyTraversalMode.TOP_DOWN)
                    .stream()
                    .map(method -> selectMethod(type, method))
                    .findAny()
                    .orElseThrow(() -> new IllegalArgumentException("There is no " + test));
        } catch (ClassNotFoundException missing) {
            throw new IllegalArgumentException("There is no " + test, missing);
        }
    }
}
