package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.LockedAnnotations;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.annotation.ReflectiveProcessor;
import org.springframework.util.ReflectionUtils;

/**
 * What the annotations reach by reflection, for native images: the annotated methods, their fallbacks, and the properties that the
 * expressions of a name may read. Spring creates it for the annotations of beans.
 */
final class MethodHints implements ReflectiveProcessor {

    private static final BindingReflectionHintsRegistrar PROPERTIES = new BindingReflectionHintsRegistrar();

    private static final Pattern BY_POSITION = Pattern.compile("#([ap][0-9]|root|this)");

    MethodHints() {}

    @Override
    public void registerReflectionHints(ReflectionHints hints, AnnotatedElement element) {
        if (element instanceof Method method) {
            register(hints, method);
        } else if (element instanceof Class<?> type) {
            Arrays.stream(type.getDeclaredMethods())
                    .filter(method -> !method.isSynthetic())
                    .forEach(method -> register(hints, method));
        }
    }

    private static void register(ReflectionHints hints, Method method) {
        hints.registerMethod(method, ExecutableMode.INVOKE);
        Class<?> type = method.getDeclaringClass();
        LockedAnnotations.of(Locked.class, method, type)
                .forEach(locked -> register(hints, method, locked.name(), locked.fallback()));
        LockedAnnotations.of(Limited.class, method, type)
                .forEach(limited -> register(hints, method, limited.name(), limited.fallback()));
    }

    private static void register(ReflectionHints hints, Method method, String name, String fallback) {
        if (name.contains("{")) {
            registerProperties(hints, method, name);
        }
        Stream.of(ReflectionUtils.getAllDeclaredMethods(method.getDeclaringClass()))
                .filter(candidate -> candidate.getName().equals(fallback))
                .forEach(found -> hints.registerMethod(found, ExecutableMode.INVOKE));
    }

    /** Of the parameters that the name mentions; by their position or as the root, all are mentioned. */
    private static void registerProperties(ReflectionHints hints, Method method, String name) {
        for (Parameter parameter : method.getParameters()) {
            boolean isMentioned = !parameter.isNamePresent()
                    || name.contains("#" + parameter.getName())
                    || BY_POSITION.matcher(name).find();
            if (isMentioned) {
                PROPERTIES.registerReflectionHints(hints, parameter.getParameterizedType());
            }
        }
    }
}
