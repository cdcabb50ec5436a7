package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.PresentAnnotations;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiPredicate;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Finds the methods of a class that have an annotation, including those that no proxy can intercept. It reads each class once.
 * The code that intercepts the methods does not use this class on purpose, so that a mistake in either becomes visible. Both use
 * {@link PresentAnnotations}. Thread-safe.
 */
final class AnnotatedMethods {

    private final Class<? extends Annotation> annotation;
    private final String protection;
    private final BiPredicate<Method, Class<?>> isAnnotated;
    private final PresentAnnotations present;
    private final Map<Class<?>, Set<Method>> known = new ConcurrentHashMap<>();

    private AnnotatedMethods(
            Class<? extends Annotation> annotation, String protection, BiPredicate<Method, Class<?>> isAnnotated) {
        this.annotation = annotation;
        this.protection = protection;
        this.isAnnotated = isAnnotated;
        present = new PresentAnnotations(annotation);
    }

    static AnnotatedMethods locked() {
        return inHierarchy(Locked.class, "a lock");
    }

    static AnnotatedMethods limited() {
        return inHierarchy(Limited.class, "permits");
    }

    static AnnotatedMethods leaderOnly() {
        return inHierarchy(LeaderOnly.class, "a check of the leadership");
    }

    private static AnnotatedMethods inHierarchy(Class<? extends Annotation> annotation, String protection) {
        return new AnnotatedMethods(
                annotation,
                protection,
                (method, type) ->
                        !LockedAnnotations.of(annotation, method, type).isEmpty());
    }

    static AnnotatedMethods scheduledLock() {
        return new AnnotatedMethods(
                ScheduledLock.class,
                "a lock",
                (method, type) -> !LockedAnnotations.ofMethod(ScheduledLock.class, method, type)
                        .isEmpty());
    }

    /** Returns the annotation as it appears in source code. */
    String annotation() {
        return "@" + annotation.getSimpleName();
    }

    /** Returns what the methods would lack without interception, for messages. */
    String protection() {
        return protection;
    }

    /** Returns whether a call of this method, on a bean of this class, is one of an annotated method. */
    boolean isAnnotated(Method method, Class<?> type) {
        return isAnnotated.test(method, type);
    }

    /** Returns whether the method or an overridden method has the annotation. The annotation of a class does not count. */
    boolean isOnMethod(Method method) {
        return AnnotatedElementUtils.hasAnnotation(method, annotation);
    }

    /**
     * Returns the annotated methods that a class declares or inherits.
     *
     * @param type the class of a bean or of its proxy
     */
    Set<Method> of(Class<?> type) {
        return known.computeIfAbsent(Proxy.isProxyClass(type) ? type : ClassUtils.getUserClass(type), this::find);
    }

    private Set<Method> find(Class<?> type) {
        if (!AnnotationUtils.isCandidateClass(type, annotation) || !present.mayBeIn(type)) {
            return Set.of();
        }
        Set<Class<?>> declaring = new LinkedHashSet<>(ClassUtils.getAllInterfacesForClassAsSet(type));
        if (!Proxy.isProxyClass(type)) {
            declaring.add(type);
        }
        Set<Method> found = new LinkedHashSet<>();
        for (Class<?> declares : declaring) {
            ReflectionUtils.doWithMethods(
                    declares, method -> addIfAnnotated(method, type, found), ReflectionUtils.USER_DECLARED_METHODS);
        }
        return found;
    }

    private void addIfAnnotated(Method method, Class<?> type, Set<Method> found) {
        Method specific = LockedAnnotations.specific(method, type);
        if (isAnnotated.test(specific, type)) {
            found.add(specific);
        } else if (isAnnotated.test(method, type)) {
            found.add(method);
        }
    }
}
