package io.github.holdfast.annotation.method;

import java.lang.annotation.Annotation;
import java.lang.annotation.AnnotationFormatError;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ClassFilter;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.util.ConcurrentReferenceHashMap;
import org.springframework.util.ReflectionUtils;

/**
 * Quickly rules out that a class contains an annotation anywhere. Spring's search, method by method, costs about fifty times as
 * much, and most beans have none of our annotations. If it were wrong, a method would run without its lock, and no check would see
 * that. So it may only exclude a class in which Spring's search finds nothing either. Thread-safe.
 */
public final class PresentAnnotations implements ClassFilter {

    /** The types of all annotations of a class and its methods, with inherited ones. Soft references let classes be unloaded. */
    private static final Map<Class<?>, Set<Class<? extends Annotation>>> KNOWN = new ConcurrentReferenceHashMap<>();

    private final Class<? extends Annotation> wanted;
    private final Map<Class<? extends Annotation>, Boolean> carriers = new ConcurrentHashMap<>();

    public PresentAnnotations(Class<? extends Annotation> wanted) {
        this.wanted = wanted;
    }

    /**
     * Returns whether the class, a method of it, or anything that they inherit from may have the annotation, directly, through
     * another annotation, or in a container of repeated annotations.
     *
     * @throws IllegalStateException if the methods need a class that is missing
     */
    public boolean mayBeIn(Class<?> type) {
        try {
            return types(type).stream().anyMatch(this::carries);
        } catch (ArrayStoreException | TypeNotPresentException | LinkageError | AnnotationFormatError unreadable) {
            // An annotation needs a class that is missing. Spring's search leaves such annotations out.
            return true;
        }
    }

    @Override
    public boolean matches(Class<?> type) {
        return mayBeIn(type);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof PresentAnnotations present && present.wanted == wanted;
    }

    @Override
    public int hashCode() {
        return wanted.hashCode();
    }

    /** Spring uses the same class for proxies of several contexts if the filters of their advisors have the same text. */
    @Override
    public String toString() {
        return PresentAnnotations.class.getName() + ": " + wanted.getName();
    }

    private static Set<Class<? extends Annotation>> types(Class<?> type) {
        Set<Class<? extends Annotation>> known = KNOWN.get(type);
        if (known == null) {
            Set<Class<? extends Annotation>> found = new HashSet<>();
            add(type.getDeclaredAnnotations(), found);
            for (Method method : ReflectionUtils.getDeclaredMethods(type)) {
                add(method.getDeclaredAnnotations(), found);
            }
            if (type.getSuperclass() != null && type.getSuperclass() != Object.class) {
                found.addAll(types(type.getSuperclass()));
            }
            for (Class<?> inherited : type.getInterfaces()) {
                found.addAll(types(inherited));
            }
            known = Set.copyOf(found);
            KNOWN.put(type, known);
        }
        return known;
    }

    private static void add(Annotation[] annotations, Set<Class<? extends Annotation>> found) {
        Arrays.stream(annotations).map(Annotation::annotationType).forEach(found::add);
    }

    private boolean carries(Class<? extends Annotation> type) {
        Boolean known = carriers.get(type);
        if (known == null) {
            known = type == wanted || MergedAnnotations.from(type).isPresent(wanted) || containsCarriers(type);
            carriers.put(type, known);
        }
        return known;
    }

    private boolean containsCarriers(Class<? extends Annotation> container) {
        Method value = ReflectionUtils.findMethod(container, "value");
        Class<?> contained = value == null ? null : value.getReturnType().getComponentType();
        return contained != null && contained.isAnnotation() && carries(contained.asSubclass(Annotation.class));
    }
}
