package io.github.holdfast.annotation.method;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.scheduling.annotation.Async;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/** Checks which methods can run under a lock or permits. */
public final class MethodChecks {

    /** Annotations of methods that Spring calls. Spring 6 also knows those of Java EE. */
    private static final Set<String> LIFECYCLE = Set.of(
            "jakarta.annotation.PostConstruct",
            "jakarta.annotation.PreDestroy",
            "jakarta.annotation.Resource",
            "jakarta.inject.Inject",
            "javax.annotation.PostConstruct",
            "javax.annotation.PreDestroy",
            "javax.annotation.Resource",
            "javax.inject.Inject",
            "org.springframework.beans.factory.annotation.Autowired",
            "org.springframework.beans.factory.annotation.Value");

    public static final String CALLED_ON_BEAN =
            "Spring calls it on the bean itself, not through its proxy, so the annotation would have no effect:"
                    + " let it call an annotated method of another bean";

    private MethodChecks() {}

    /** The method with its class and the types of its parameters, for messages. */
    public static String describe(Method method) {
        return ClassUtils.getQualifiedMethodName(method)
                + Arrays.stream(method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }

    /** The message of a cause, as it goes on after a colon. */
    public static String continued(Exception cause) {
        return StringUtils.uncapitalize(String.valueOf(cause.getMessage()));
    }

    /**
     * Checks that what the method holds would last until its work is done, and that a proxy can intercept its calls.
     *
     * @param annotation the annotation as it appears in source code
     * @throws IllegalArgumentException if not; the message says why and what to do
     */
    public static void check(Method method, Class<?> targetClass, String annotation) {
        int modifiers = method.getModifiers();
        if (Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
            throw new IllegalArgumentException("a " + (Modifier.isStatic(modifiers) ? "static" : "private")
                    + " method is called without Spring's proxy, so the annotation would have no effect: make it a"
                    + " non-private instance method, and call it from another bean");
        }
        if (AnnotatedElementUtils.hasAnnotation(method, Async.class)
                || AnnotatedElementUtils.hasAnnotation(method.getDeclaringClass(), Async.class)
                || AnnotatedElementUtils.hasAnnotation(targetClass, Async.class)) {
            throw new IllegalArgumentException(
                    "it is @Async, so it returns before the work begins, and nothing would be held any more. Call a "
                            + annotation + " method of another bean from the @Async method");
        }
        checkCaller(method, targetClass);
        checkResult(method, targetClass);
    }

    /**
     * Checks that Spring does not call the method before the bean's proxy exists.
     *
     * @throws IllegalArgumentException if Spring does; the message says what to do
     */
    public static void checkCaller(Method method, Class<?> targetClass) {
        if (isCalledOnTheBeanItself(method, targetClass)) {
            throw new IllegalArgumentException(CALLED_ON_BEAN);
        }
    }

    /** Returns whether Spring calls the method as part of the bean's life cycle. */
    static boolean isCalledOnTheBeanItself(Method method, Class<?> targetClass) {
        return isOf(InitializingBean.class, "afterPropertiesSet", method, targetClass)
                || isOf(DisposableBean.class, "destroy", method, targetClass)
                || MergedAnnotations.from(method).stream()
                        .map(annotation -> annotation.getType().getName())
                        .anyMatch(LIFECYCLE::contains);
    }

    private static boolean isOf(Class<?> callback, String name, Method method, Class<?> targetClass) {
        return callback.isAssignableFrom(targetClass)
                && method.getName().equals(name)
                && method.getParameterCount() == 0;
    }

    private static void checkResult(Method method, Class<?> targetClass) {
        Class<?> type = method.getReturnType();
        if (KotlinDetector.isSuspendingFunction(method)) {
            throw new IllegalArgumentException(
                    "it is a suspend function, which returns when it is first suspended. From then"
                            + " on nothing would be held any more. Put the work into a function that is not suspend; it can call"
                            + " runBlocking");
        }
        if (isReactive(type)) {
            throw new IllegalArgumentException("its result is reactive (" + type.getTypeName()
                    + "): the work would be done after the method has returned, when nothing is held any more. Put the"
                    + " work into a method that blocks or returns a CompletionStage");
        }
        boolean isStage = CompletionStage.class.isAssignableFrom(type);
        if (isStage && !returnsStage(method)) {
            throw new IllegalArgumentException("it returns a " + type.getTypeName()
                    + ", and Holdfast cannot delay its completion until the release: declare CompletionStage or"
                    + " CompletableFuture");
        }
        if (Future.class.isAssignableFrom(type) && !isStage) {
            throw new IllegalArgumentException("it returns a " + type.getTypeName()
                    + ", which does not report its completion: return a CompletionStage");
        }
        ResolvableType result = ResolvableType.forMethodReturnType(method, targetClass);
        DeferredWork.in(isStage ? result.getGeneric() : result).ifPresent(work -> {
            throw new IllegalArgumentException("its result carries work (" + work.getTypeName()
                    + ") that would be done after the method has returned, when nothing is held any more. Do the work in"
                    + " the method, or let the method itself return a CompletionStage");
        });
    }

    /**
     * Checks a result whose declared type does not show what it is.
     *
     * @throws IllegalStateException if it carries work for later
     */
    public static void checkReturned(Method method, @Nullable Object result) {
        DeferredWork.in(result).ifPresent(work -> {
            throw new IllegalStateException(describe(method) + " has returned work (" + work.getTypeName()
                    + ") that would be done when nothing is held any more. Do the work in the method");
        });
    }

    private static boolean isReactive(Class<?> type) {
        return !CompletionStage.class.isAssignableFrom(type)
                && (Flow.Publisher.class.isAssignableFrom(type)
                        || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null);
    }

    /** Returns whether the method is declared to return a stage. */
    public static boolean returnsStage(Method method) {
        Class<?> type = method.getReturnType();
        return type == CompletionStage.class || type == CompletableFuture.class;
    }
}
