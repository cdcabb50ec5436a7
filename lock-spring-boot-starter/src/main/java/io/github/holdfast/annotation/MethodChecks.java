package io.github.holdfast.annotation;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.scheduling.annotation.Async;

/** Which methods can run under a lock. */
final class MethodChecks {

    private static final Set<String> LIFECYCLE =
            Set.of("jakarta.annotation.PostConstruct", "jakarta.annotation.PreDestroy");

    private MethodChecks() {}

    /**
     * Checks that a lock would be held as long as the method works, and that calls of it can be intercepted.
     *
     * @throws IllegalArgumentException if not; says why and what to do
     */
    static void check(Method method, Class<?> targetClass) {
        int modifiers = method.getModifiers();
        if (Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
            throw new IllegalArgumentException("a " + (Modifier.isStatic(modifiers) ? "static" : "private")
                    + " method is called without Spring's proxy, and would not be locked: make it an instance method that"
                    + " is not private, and call it from another bean");
        }
        if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
                || AnnotatedElementUtils.hasAnnotation(method.getDeclaringClass(), Async.class)
                || AnnotatedElementUtils.hasAnnotation(targetClass, Async.class)) {
            throw new IllegalArgumentException(
                    "it is @Async: the lock would be released before the work begins. Let the @Async method call a @Locked"
                            + " one of another bean");
        }
        checkCaller(method, targetClass);
        checkResult(method);
    }

    /**
     * Checks that it is not one that Spring calls before there is a proxy.
     *
     * @throws IllegalArgumentException if it is; says what to do
     */
    static void checkCaller(Method method, Class<?> targetClass) {
        if (isCalledOnTheBeanItself(method, targetClass)) {
            throw new IllegalArgumentException(
                    "Spring calls it on the bean itself, not through its proxy, and it would not be locked:"
                            + " let it call a method of another bean that is");
        }
    }

    /** Whether it belongs to the life cycle of the bean. */
    static boolean isCalledOnTheBeanItself(Method method, Class<?> targetClass) {
        return isAfterPropertiesSet(method, targetClass)
                || MergedAnnotations.from(method).stream()
                        .map(annotation -> annotation.getType().getName())
                        .anyMatch(LIFECYCLE::contains);
    }

    private static boolean isAfterPropertiesSet(Method method, Class<?> targetClass) {
        return InitializingBean.class.isAssignableFrom(targetClass)
                && method.getName().equals("afterPropertiesSet")
                && method.getParameterCount() == 0;
    }

    private static void checkResult(Method method) {
        Class<?> type = method.getReturnType();
        if (KotlinDetector.isSuspendingFunction(method) || isReactive(type)) {
            throw new IllegalArgumentException("its result is reactive (" + type.getTypeName()
                    + "): the work is done after the method has returned, and the lock released. Put the work into a method"
                    + " that blocks or returns a CompletionStage");
        }
        boolean isStage = CompletionStage.class.isAssignableFrom(type);
        if (isStage && !returnsStage(method)) {
            throw new IllegalArgumentException("it returns a " + type.getTypeName()
                    + ", which cannot be made to wait for the release: declare CompletionStage or CompletableFuture");
        }
        if (Future.class.isAssignableFrom(type) && !isStage) {
            throw new IllegalArgumentException("it returns a " + type.getTypeName()
                    + ", which does not tell when it is done: return a CompletionStage");
        }
    }

    private static boolean isReactive(Class<?> type) {
        return !CompletionStage.class.isAssignableFrom(type)
                && (Flow.Publisher.class.isAssignableFrom(type)
                        || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null);
    }

    /** Whether the method says that it returns a stage. */
    static boolean returnsStage(Method method) {
        Class<?> type = method.getReturnType();
        return type == CompletionStage.class || type == CompletableFuture.class;
    }
}
