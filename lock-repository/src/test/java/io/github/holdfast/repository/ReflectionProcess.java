package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.holdfast.test.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.agent.RecordedInvocation;
import org.springframework.aot.agent.RecordedInvocationsPublisher;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.data.repository.Repository;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.util.ClassUtils;

/** Calls each query of a store, and prints what Holdfast reaches by reflection although no hint allows it in a native image. */
final class ReflectionProcess {

    private static final Duration AT_MOST = Duration.ofSeconds(20);

    private ReflectionProcess() {}

    public static void main(String[] args) throws Exception {
        JavaProcess.exitWithParent();
        Queue<RecordedInvocation> recorded = new ConcurrentLinkedQueue<>();
        RecordedInvocationsPublisher.addListener(recorded::add);
        useStore();
        List<RecordedInvocation> own =
                recorded.stream().filter(ReflectionProcess::isOfHoldfast).toList();
        RuntimeHints hints = hints();
        own.stream()
                .filter(invocation -> !invocation.matches(hints))
                .map(ReflectionProcess::describe)
                .distinct()
                .forEach(System.out::println);
        System.out.println("covered: "
                + own.stream().filter(invocation -> invocation.matches(hints)).count());
    }

    private static String describe(RecordedInvocation missing) {
        return "missing: " + missing.getMethodReference() + " of "
                + (missing.isStatic() ? "" : missing.getInstance()) + " with "
                + Arrays.deepToString(missing.getArguments().toArray()) + " from "
                + missing.getStackFrames().limit(3).map(Object::toString).collect(Collectors.joining(" < "));
    }

    private static RuntimeHints hints() {
        RuntimeHints hints = new RuntimeHints();
        ClassLoader loader = ReflectionProcess.class.getClassLoader();
        SpringFactoriesLoader.forResourceLocation("META-INF/spring/aot.factories", loader)
                .load(RuntimeHintsRegistrar.class)
                .forEach(registrar -> registrar.registerHints(hints, loader));
        return hints;
    }

    /** Whether Holdfast's code or a helper of Spring for it is reflective, or the reflection is about its classes. */
    private static boolean isOfHoldfast(RecordedInvocation invocation) {
        String caller = invocation
                .getStackFrames()
                .map(StackWalker.StackFrame::getClassName)
                .filter(name -> !name.startsWith("org.springframework.util.")
                        && !name.startsWith("org.springframework.beans.BeanUtils"))
                .findFirst()
                .orElseThrow();
        return hasFoundSomething(invocation)
                && !caller.startsWith(ReflectionProcess.class.getName())
                && !caller.contains("$Proxy")
                && (isName(caller)
                        || invocation.getArguments().stream().anyMatch(ReflectionProcess::isAbout)
                        || (!invocation.isStatic() && isAbout(invocation.getInstance())));
    }

    /** A search that finds nothing, or a member of somebody else's class, needs no hint. */
    private static boolean hasFoundSomething(RecordedInvocation invocation) {
        boolean isSearch = invocation.getMethodReference().getClassName().startsWith("java.lang.Class");
        Object found = invocation.getReturnValue();
        return !isSearch || (found instanceof Member member ? isAbout(member) : found != null);
    }

    private static boolean isAbout(@Nullable Object argument) {
        if (argument instanceof Object[] several) {
            return Stream.of(several).anyMatch(ReflectionProcess::isAbout);
        }
        if (argument instanceof Member member) {
            return isAbout(member.getDeclaringClass());
        }
        return argument instanceof Class<?> type
                ? isName(type.getName())
                : argument instanceof String text && isName(text) && !text.contains(" ");
    }

    /** Nobody needs the annotations of a package. */
    private static boolean isName(String text) {
        return text.contains("io.github.holdfast") && !text.endsWith("package-info");
    }

    private static void useStore() throws Exception {
        DataSource database = new DriverManagerDataSource("jdbc:h2:mem:reflection;DB_CLOSE_DELAY=-1");
        LockSchema.on(database).createIfMissing();
        EntityManagerFactory unit = PersistenceUnit.directlyOn(database, Map.of());
        try (LockStore unused = LockStore.open(unit)) {
            StoreTransactions transactions = new StoreTransactions(unit.unwrap(SessionFactoryImplementor.class), null);
            for (Class<?> type : ownClasses()) {
                if (type.isInterface() && Repository.class.isAssignableFrom(type)) {
                    Object repository = transactions.repository(type);
                    for (Method method : type.getMethods()) {
                        call(transactions, repository, method);
                    }
                }
            }
        }
        unit.close();
    }

    /** All of them are initialized, because some look for a class then. */
    private static Set<Class<?>> ownClasses() throws Exception {
        Path classes = Path.of(LockStore.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        try (Stream<Path> files = Files.walk(classes)) {
            return files.map(file -> classes.relativize(file).toString())
                    .filter(file -> file.endsWith(".class") && file.contains("/"))
                    .map(file -> file.replace(".class", "").replace('/', '.'))
                    .map(name -> ClassUtils.resolveClassName(name, LockStore.class.getClassLoader()))
                    .peek(ReflectionProcess::initialize)
                    .collect(Collectors.toSet());
        }
    }

    private static void initialize(Class<?> type) {
        try {
            Class.forName(type.getName());
        } catch (ClassNotFoundException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** Not every database knows every query. */
    private static void call(StoreTransactions transactions, Object repository, Method method) {
        if (Modifier.isStatic(method.getModifiers())) {
            return;
        }
        method.setAccessible(true);
        Object[] arguments = Stream.of(method.getParameterTypes())
                .map(ReflectionProcess::sample)
                .toArray();
        Throwable unused = catchThrowable(() -> transactions.rolledBack(AT_MOST, () -> {
            try {
                return method.invoke(repository, arguments);
            } catch (ReflectiveOperationException failed) {
                throw new IllegalStateException(failed);
            }
        }));
    }

    private static @Nullable Object sample(Class<?> type) {
        if (type.isPrimitive() || type == String.class) {
            return CompiledSql.sample(type, 1);
        }
        if (type == Duration.class) {
            return Duration.ofSeconds(1);
        }
        if (type == Instant.class) {
            return Instant.EPOCH;
        }
        return Collection.class.isAssignableFrom(type) ? List.of("one") : null;
    }
}
