package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.DeferredWork;
import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.MethodChecks;
import io.github.holdfast.task.TaskRequest;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ResolvableType;
import org.springframework.format.datetime.standard.DurationFormatterUtils;
import org.springframework.util.StringValueResolver;

/** The content of a method's {@link ScheduledLock} annotation. */
record ScheduledTask(Method method, TaskRequest request) {

    /**
     * Reads the annotation.
     *
     * @param method the most specific one
     * @param beanClass the class of the bean, or of its proxy if only that has the annotation
     * @return empty if the method has none
     * @throws IllegalStateException if the annotation is wrong; the message names bean and method
     */
    static Optional<ScheduledTask> of(Method method, Class<?> beanClass, String beanName, StringValueResolver values) {
        return LockedAnnotations.ofMethod(ScheduledLock.class, method, beanClass).stream()
                .findFirst()
                .map(annotation -> read(annotation, method, beanClass, beanName, values));
    }

    private static ScheduledTask read(
            ScheduledLock annotation, Method method, Class<?> beanClass, String beanName, StringValueResolver values) {
        try {
            checkInterceptable(method);
            MethodChecks.checkCaller(method, beanClass);
            checkDoneWhenItReturns(method, beanClass);
            return new ScheduledTask(method, request(annotation, values));
        } catch (IllegalArgumentException bad) {
            throw new LockAnnotationException(
                    "@ScheduledLock on %s of bean '%s': %s"
                            .formatted(method.toGenericString(), beanName, MethodChecks.continued(bad)),
                    bad);
        }
    }

    private static void checkInterceptable(Method method) {
        int modifiers = method.getModifiers();
        if (Modifier.isPrivate(modifiers) || Modifier.isFinal(modifiers) || Modifier.isStatic(modifiers)) {
            throw new IllegalArgumentException(
                    "a private, final or static method cannot be intercepted, so it would run without its lock");
        }
    }

    private static void checkDoneWhenItReturns(Method method, Class<?> beanClass) {
        Class<?> type = method.getReturnType();
        if (type.isPrimitive() && type != void.class) {
            throw new IllegalArgumentException(
                    "a call that is not due has no %s to return: use its wrapper or void".formatted(type.getName()));
        }
        if (KotlinDetector.isSuspendingFunction(method)) {
            throw new IllegalArgumentException(
                    "the lock is released when the method is suspended first: let it call runBlocking");
        }
        DeferredWork.in(ResolvableType.forMethodReturnType(method, beanClass)).ifPresent(work -> {
            throw new IllegalArgumentException(
                    "the lock is released when the method returns, but the work of its result (" + work.getSimpleName()
                            + ") may end later: wait for it, and return void");
        });
    }

    private static TaskRequest request(ScheduledLock annotation, StringValueResolver values) {
        String name = resolved("name", annotation.name(), values);
        if (name.contains("{#") || name.contains("#{") || name.contains("{@")) {
            throw new IllegalArgumentException(
                    "name = \"%s\" is taken literally: the name of a task has no expressions, only properties"
                            .formatted(name));
        }
        TaskRequest request = TaskRequest.of(name);
        Optional<Duration> every = duration("every", annotation.every(), values);
        Optional<Duration> atLeastFor = duration("atLeastFor", annotation.atLeastFor(), values);
        if (every.isEmpty() && atLeastFor.isEmpty()) {
            throw new IllegalArgumentException(
                    "it would run on every node in turn: set its period with every, or the shortest time from one run"
                            + " to the next with atLeastFor");
        }
        request = with(request, "every", every, TaskRequest::every);
        request = with(request, "atLeastFor", atLeastFor, TaskRequest::minimumHold);
        request = with(request, "atMostFor", duration("atMostFor", annotation.atMostFor(), values), TaskRequest::lease);
        return annotation.retryFailed() ? request.retryFailed() : request;
    }

    private static TaskRequest with(
            TaskRequest request,
            String attribute,
            Optional<Duration> duration,
            BiFunction<TaskRequest, Duration, TaskRequest> wither) {
        try {
            return duration.map(value -> wither.apply(request, value)).orElse(request);
        } catch (IllegalArgumentException outOfRange) {
            throw new IllegalArgumentException(attribute + ": " + MethodChecks.continued(outOfRange), outOfRange);
        }
    }

    private static Optional<Duration> duration(String attribute, String text, StringValueResolver values) {
        String value = resolved(attribute, text, values);
        if (value.isBlank()) {
            return Optional.empty();
        }
        try {
            return Optional.of(DurationFormatterUtils.detectAndParse(value.strip()));
        } catch (IllegalArgumentException notADuration) {
            throw new IllegalArgumentException(
                    "%s = \"%s\" is not a duration: write 10m or PT10M".formatted(attribute, value), notADuration);
        }
    }

    private static String resolved(String attribute, String text, StringValueResolver values) {
        @Nullable String value;
        try {
            value = values.resolveStringValue(text);
        } catch (RuntimeException unresolved) {
            throw new IllegalArgumentException(
                    "%s = \"%s\" cannot be resolved: %s".formatted(attribute, text, unresolved.getMessage()),
                    unresolved);
        }
        // Without Spring Boot, Spring leaves an unknown property unchanged.
        if (value != null && value.contains("${")) {
            throw new IllegalArgumentException(
                    "%s = \"%s\" names a property that is not set".formatted(attribute, text));
        }
        return value == null ? "" : value;
    }
}
