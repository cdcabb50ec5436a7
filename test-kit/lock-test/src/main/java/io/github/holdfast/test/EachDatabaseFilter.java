package io.github.holdfast.test;

import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.PostDiscoveryFilter;

/**
 * Leaves classes with {@link OnEachDatabase} to {@link EachDatabaseEngine}: Jupiter by itself finds them too. JUnit finds this
 * filter by its {@link java.util.ServiceLoader} file.
 */
public final class EachDatabaseFilter implements PostDiscoveryFilter {

    /** Called by JUnit. */
    public EachDatabaseFilter() {}

    @Override
    public FilterResult apply(TestDescriptor test) {
        return FilterResult.includedIf(!isForEngine(test), () -> "", () -> "is run on each database");
    }

    /** JUnit asks about everything, but removes only what has no children, and then what has none left. */
    private static boolean isForEngine(TestDescriptor test) {
        TestDescriptor outermost = test;
        while (outermost.getParent().filter(parent -> !parent.isRoot()).isPresent()) {
            outermost = outermost.getParent().orElseThrow();
        }
        return !EachDatabaseEngine.isPart(test.getUniqueId())
                && outermost.getSource().orElse(null) instanceof ClassSource source
                && EachDatabaseEngine.runs(source.getJavaClass());
    }
}
