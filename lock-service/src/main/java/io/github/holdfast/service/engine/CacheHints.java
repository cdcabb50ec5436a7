package io.github.holdfast.service.engine;

import java.lang.reflect.Field;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.util.ClassUtils;

/** The classes that Caffeine looks up by name for the service's caches, for native images. */
final class CacheHints implements RuntimeHintsRegistrar {

    /** Of caches with a maximum size, and their entries; the W is for those that expire. */
    private static final List<String> CLASSES = List.of("SSMS", "SSMSW", "PSMS", "PSWMS");

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        for (String name : CLASSES) {
            String type = "com.github.benmanes.caffeine.cache." + name;
            // Another version of Caffeine may have other classes.
            if (ClassUtils.isPresent(type, loader)) {
                register(ClassUtils.resolveClassName(type, loader), hints.reflection());
            }
        }
    }

    private static void register(Class<?> type, ReflectionHints hints) {
        hints.registerType(type, MemberCategory.INVOKE_DECLARED_CONSTRUCTORS);
        for (Field field : type.getDeclaredFields()) {
            hints.registerField(field);
        }
    }
}
