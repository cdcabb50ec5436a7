package io.github.holdfast.test;

import java.lang.reflect.Modifier;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.ReflectionSupport;
import org.junit.platform.engine.ConfigurationParameters;
import org.junit.platform.engine.DiscoveryFilter;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.EngineDiscoveryListener;
import org.junit.platform.engine.EngineDiscoveryRequest;
import org.junit.platform.engine.EngineExecutionListener;
import org.junit.platform.engine.ExecutionRequest;
import org.junit.platform.engine.OutputDirectoryCreator;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestEngine;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.discovery.ClassSelector;
import org.junit.platform.engine.discovery.ClasspathRootSelector;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.discovery.IterationSelector;
import org.junit.platform.engine.discovery.MethodSelector;
import org.junit.platform.engine.discovery.NestedClassSelector;
import org.junit.platform.engine.discovery.NestedMethodSelector;
import org.junit.platform.engine.discovery.PackageSelector;
import org.junit.platform.engine.discovery.UniqueIdSelector;
import org.junit.platform.engine.support.descriptor.AbstractTestDescriptor;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.EngineDescriptor;

/**
 * Runs classes with {@link OnEachDatabase}: has JUnit Jupiter run each of them once for each kind, and tells it the kind by a
 * configuration parameter. JUnit finds this engine by its {@link ServiceLoader} file.
 *
 * @see EachDatabaseFilter
 */
public final class EachDatabaseEngine implements TestEngine {

    private static final String ID = "each-database";

    private static final String JUPITER = "junit-jupiter";

    /** The type of the part of a unique id that names a class and a kind. */
    private static final String RUN = "run";

    /** The configuration parameter with the name of the kind. */
    private static final String KIND = "holdfast.test.kind";

    /** The configuration parameter, or system property, with the kinds that most classes are run on. */
    private static final String USUAL = "holdfast.test.usual-databases";

    /** The system property with the kinds that a developer wants. See {@link Servers}. */
    private static final String SELECTED = "holdfast.test.databases";

    /** Called by JUnit. */
    public EachDatabaseEngine() {}

    /** Whether this engine runs a class. An inner class belongs to the run of its outer class. */
    static boolean runs(Class<?> type) {
        return AnnotationSupport.isAnnotated(type, OnEachDatabase.class)
                && (!type.isMemberClass() || Modifier.isStatic(type.getModifiers()));
    }

    /** Returns the kind of the run that Jupiter's configuration parameters are for. */
    static Optional<TestDatabase> kind(Function<String, Optional<String>> parameters) {
        return parameters.apply(KIND).map(TestDatabase::valueOf);
    }

    /** Returns the kind of the run that a test or a container belongs to. */
    static Optional<TestDatabase> kind(UniqueId test) {
        return test.getSegments().stream()
                .filter(segment -> segment.getType().equals(RUN))
                .flatMap(segment -> Stream.of(TestDatabase.values())
                        .filter(kind -> segment.getValue().endsWith(suffix(kind))))
                .findFirst();
    }

    /** Whether something was found by this engine. */
    static boolean isPart(UniqueId test) {
        return test.getEngineId().filter(ID::equals).isPresent();
    }

    private static String suffix(TestDatabase kind) {
        return "[" + kind.key() + "]";
    }

    @Override
    public String getId() {
        return ID;
    }

    @Override
    public TestDescriptor discover(EngineDiscoveryRequest request, UniqueId id) {
        EngineDescriptor root = new EngineDescriptor(id, "On each database");
        Map<Class<?>, Set<DiscoverySelector>> selected = new LinkedHashMap<>();
        for (DiscoverySelector selector : request.getSelectorsByType(DiscoverySelector.class)) {
            inClasses(selector)
                    .forEach(each -> classes(each)
                            .filter(EachDatabaseEngine::runs)
                            .forEach(type -> selected.computeIfAbsent(type, key -> new LinkedHashSet<>())
                                    .add(each)));
        }
        selected.forEach((type, selectors) -> {
            for (TestDatabase kind : kinds(type, request.getConfigurationParameters())) {
                Run run = new Run(id, type, kind);
                TestDescriptor tests = jupiter()
                        .discover(
                                new Part(request, run, selectors),
                                run.getUniqueId().appendEngine(JUPITER));
                if (!tests.getChildren().isEmpty()) {
                    run.addChild(tests);
                    root.addChild(run);
                }
            }
        });
        return root;
    }

    private static List<TestDatabase> kinds(Class<?> type, ConfigurationParameters parameters) {
        List<TestDatabase> all = List.of(AnnotationSupport.findAnnotation(type, OnEachDatabase.class)
                .orElseThrow()
                .value());
        Set<String> usual = Set.of(parameters.get(USUAL).orElse("").split(","));
        boolean isEverywhere = AnnotationSupport.findRepeatableAnnotations(type, Tag.class).stream()
                .anyMatch(tag -> tag.value().equals(OnEachDatabase.EVERYWHERE));
        boolean areSelected = !parameters.get(SELECTED).orElse("").isEmpty();
        if (isEverywhere || areSelected || usual.contains("")) {
            return all;
        }
        List<TestDatabase> some =
                all.stream().filter(kind -> usual.contains(kind.key())).toList();
        return some.isEmpty() ? all.subList(0, 1) : some;
    }

    /** Returns the selector, or those of all classes with the annotation instead of one that looks for classes. */
    private static Stream<? extends DiscoverySelector> inClasses(DiscoverySelector selector) {
        if (selector instanceof PackageSelector inPackage) {
            return ReflectionSupport.findAllClassesInPackage(
                            inPackage.getPackageName(), EachDatabaseEngine::runs, name -> true)
                    .stream()
                    .map(DiscoverySelectors::selectClass);
        }
        if (selector instanceof ClasspathRootSelector root) {
            return ReflectionSupport.findAllClassesInClasspathRoot(
                            root.getClasspathRoot(), EachDatabaseEngine::runs, name -> true)
                    .stream()
                    .map(DiscoverySelectors::selectClass);
        }
        return Stream.of(selector);
    }

    private static Stream<Class<?>> classes(DiscoverySelector selector) {
        if (selector instanceof ClassSelector inClass) {
            return Stream.of(inClass.getJavaClass());
        }
        if (selector instanceof MethodSelector method) {
            return Stream.of(method.getJavaClass());
        }
        if (selector instanceof NestedClassSelector nested) {
            return Stream.of(nested.getEnclosingClasses().get(0));
        }
        if (selector instanceof NestedMethodSelector nested) {
            return Stream.of(nested.getEnclosingClasses().get(0));
        }
        if (selector instanceof IterationSelector iteration) {
            return classes(iteration.getParentSelector());
        }
        if (selector instanceof UniqueIdSelector id) {
            return id.getUniqueId().getSegments().stream()
                    .filter(segment -> segment.getType().equals(RUN))
                    .map(segment -> segment.getValue().replaceFirst("\\[.*", ""))
                    .flatMap(name -> ReflectionSupport.tryToLoadClass(name).toOptional().stream());
        }
        return Stream.empty();
    }

    @Override
    public void execute(ExecutionRequest request) {
        TestDescriptor root = request.getRootTestDescriptor();
        EngineExecutionListener listener = request.getEngineExecutionListener();
        listener.executionStarted(root);
        for (TestDescriptor run : root.getChildren()) {
            listener.executionStarted(run);
            for (TestDescriptor tests : run.getChildren()) {
                jupiter()
                        .execute(ExecutionRequest.create(
                                tests,
                                listener,
                                request.getConfigurationParameters(),
                                request.getOutputDirectoryCreator(),
                                request.getStore(),
                                request.getCancellationToken()));
            }
            listener.executionFinished(run, TestExecutionResult.successful());
        }
        listener.executionFinished(root, TestExecutionResult.successful());
    }

    private static TestEngine jupiter() {
        return ServiceLoader.load(TestEngine.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(engine -> engine.getId().equals(JUPITER))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("JUnit Jupiter is not on the class path"));
    }

    /** All tests of one class on one kind. */
    private static final class Run extends AbstractTestDescriptor {

        private final TestDatabase kind;

        Run(UniqueId engine, Class<?> type, TestDatabase kind) {
            // Surefire names reports, and tells tests apart, by the outermost class.
            super(
                    engine.append(RUN, type.getName() + suffix(kind)),
                    kind.label(),
                    ClassSource.from(type.getName() + suffix(kind)));
            this.kind = kind;
        }

        @Override
        public Type getType() {
            return Type.CONTAINER;
        }
    }

    /** What Jupiter is asked for one run. */
    private record Part(EngineDiscoveryRequest request, Run run, Set<DiscoverySelector> selectors)
            implements EngineDiscoveryRequest {

        @Override
        public <T extends DiscoverySelector> List<T> getSelectorsByType(Class<T> type) {
            return selectors.stream()
                    .flatMap(this::ofRun)
                    .filter(type::isInstance)
                    .map(type::cast)
                    .toList();
        }

        /** An id names one run, or something in it. */
        private Stream<DiscoverySelector> ofRun(DiscoverySelector selector) {
            if (!(selector instanceof UniqueIdSelector id)) {
                return Stream.of(selector);
            }
            if (!id.getUniqueId().hasPrefix(run.getUniqueId())) {
                return Stream.empty();
            }
            boolean isWhole = id.getUniqueId().getSegments().size()
                    <= run.getUniqueId().getSegments().size() + 1;
            return isWhole ? classes(id).map(type -> DiscoverySelectors.selectClass(type)) : Stream.of(id);
        }

        @Override
        public <T extends DiscoveryFilter<?>> List<T> getFiltersByType(Class<T> type) {
            return request.getFiltersByType(type);
        }

        @Override
        public ConfigurationParameters getConfigurationParameters() {
            return new WithKind(request.getConfigurationParameters(), run.kind);
        }

        @Override
        public EngineDiscoveryListener getDiscoveryListener() {
            return request.getDiscoveryListener();
        }

        @Override
        public OutputDirectoryCreator getOutputDirectoryCreator() {
            return request.getOutputDirectoryCreator();
        }
    }

    private record WithKind(ConfigurationParameters others, TestDatabase kind) implements ConfigurationParameters {

        @Override
        public Optional<String> get(String key) {
            return key.equals(KIND) ? Optional.of(kind.name()) : others.get(key);
        }

        @Override
        public Optional<Boolean> getBoolean(String key) {
            return others.getBoolean(key);
        }

        @Override
        public Set<String> keySet() {
            return others.keySet();
        }
    }
}
