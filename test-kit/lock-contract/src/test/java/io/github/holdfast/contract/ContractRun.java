package io.github.holdfast.contract;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** A run of a user's class: what has passed, and why the rest has not. */
final class ContractRun implements TestExecutionListener {

    private final List<String> passed = new ArrayList<>();
    private final Map<String, String> failed = new TreeMap<>();

    private ContractRun() {}

    /** Runs all tests of a class. */
    static ContractRun of(Class<? extends LockContract> test) {
        return of(selectClass(test));
    }

    /** Runs one test of a class. */
    static ContractRun of(Class<? extends LockContract> test, String method) {
        return of(selectMethod(test, method));
    }

    private static ContractRun of(DiscoverySelector selector) {
        ContractRun run = new ContractRun();
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(selector)
                                .build(),
                        run);
        return run;
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        String name = test.getDisplayName().replace("()", "");
        result.getThrowable().ifPresent(thrown -> failed.put(name, String.valueOf(thrown.getMessage())));
        if (test.isTest() && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
            passed.add(name);
        }
    }

    List<String> passed() {
        return passed;
    }

    /** Messages by the names of tests, or of the class if it could not even begin. */
    Map<String, String> failed() {
        return failed;
    }
}
