package io.github.holdfast.service.engine;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.benmanes.caffeine.cache.Cache;
import io.github.holdfast.service.engine.row.FreeRowCache;
import java.lang.reflect.Field;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.core.io.support.SpringFactoriesLoader;

/** The classes of the real caches are among the hints. Each cache of the service is like one of these. */
class CacheHintsTest {

    @Test
    void theClassesOfCachesAndEntriesAreKnown() throws Exception {
        RuntimeHints hints = new RuntimeHints();
        ClassLoader loader = CacheHintsTest.class.getClassLoader();
        SpringFactoriesLoader.forResourceLocation("META-INF/spring/aot.factories", loader)
                .load(RuntimeHintsRegistrar.class)
                .forEach(registrar -> registrar.registerHints(hints, loader));
        Set<Class<?>> classes = classesOfCaches(new FreeRowCache());
        assertThat(classes)
                .as("caches that expire and others, and their entries")
                .hasSize(4);
        assertThat(classes)
                .allSatisfy(type -> assertThat(hints)
                        .matches(RuntimeHintsPredicates.reflection()
                                .onType(type)
                                .withMemberCategory(MemberCategory.INVOKE_DECLARED_CONSTRUCTORS)));
    }

    private static Set<Class<?>> classesOfCaches(FreeRowCache caches) throws Exception {
        Set<Class<?>> classes = new HashSet<>();
        for (Field field : FreeRowCache.class.getDeclaredFields()) {
            if (field.getType() == Cache.class) {
                field.setAccessible(true);
                Object cache = ((Cache<?, ?>) field.get(caches)).asMap();
                classes.add(cache.getClass());
                classes.add(factoryOfEntries(cache).getClass());
            }
        }
        return classes;
    }

    private static Object factoryOfEntries(Object cache) throws Exception {
        Field factory = Stream.<Class<?>>iterate(cache.getClass(), type -> type.getSuperclass())
                .flatMap(type -> Stream.of(type.getDeclaredFields()))
                .filter(field -> field.getName().equals("nodeFactory"))
                .findFirst()
                .orElseThrow();
        factory.setAccessible(true);
        return factory.get(cache);
    }
}
