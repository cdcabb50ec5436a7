package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.catchThrowable;

import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.jdbc.CompiledSql;
import io.github.holdfast.repository.jdbc.StoreTransactions;
import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.sources.CompiledClasses;
import io.github.holdfast.test.sources.RecordedReflection;
import jakarta.persistence.EntityManagerFactory;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.agent.RecordedInvocation;
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
        RecordedReflection reflection =
                RecordedReflection.start(ReflectionProcess.class, ReflectionProcess::isNameInHoldfast);
        useStore();
        List<RecordedInvocation> calls = reflection.calls();
        RecordedReflection.compare(calls, hints());
    }

    /** A text with a blank is a query. */
    private static boolean isNameInHoldfast(String text) {
        return text.contains("io.github.holdfast") && !text.contains(" ");
    }

    private static RuntimeHints hints() {
        RuntimeHints hints = new RuntimeHints();
        ClassLoader loader = ReflectionProcess.class.getClassLoader();
        SpringFactoriesLoader.forResourceLocation("META-INF/spring/aot.factories", loader)
                .load(RuntimeHintsRegistrar.class)
                .forEach(registrar -> registrar.registerHints(hints, loader));
        return hints;
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
        return CompiledClasses.beside(LockStore.class).stream()
                .map(name -> ClassUtils.resolveClassName(name, LockStore.class.getClassLoader()))
                .peek(ReflectionProcess::initialize)
                .collect(Collectors.toSet());
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
