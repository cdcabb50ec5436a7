package io.github.holdfast.annotation;

import io.github.holdfast.annotation.Locked.OnContention;
import io.github.holdfast.annotation.method.MethodChecks;
import io.github.holdfast.annotation.method.NullableResult;
import io.github.holdfast.lock.LockNotAcquiredException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** The action that replaces a method call whose locks or permits were not acquired. */
interface Contention {

    /** The empty results that replace null, by type. */
    Map<Class<?>, Object> EMPTY = Map.of(
            Optional.class, Optional.empty(),
            OptionalInt.class, OptionalInt.empty(),
            OptionalLong.class, OptionalLong.empty(),
            OptionalDouble.class, OptionalDouble.empty());

    /**
     * Returns a result to the caller, or throws.
     *
     * @param target the bean; null only for a proxy without a bean
     */
    @Nullable
    Object answer(LockNotAcquiredException contention, @Nullable Object target, @Nullable Object[] arguments)
            throws Throwable;

    /**
     * Reads the action from these attributes.
     *
     * @param fallback the name of a method; empty if there is none
     * @throws IllegalArgumentException if they are wrong; the message says why and what to do
     */
    static Contention of(OnContention onContention, String fallback, AnnotationSite site) {
        if (!fallback.isEmpty()) {
            if (onContention == OnContention.SKIP) {
                throw new IllegalArgumentException("it has a fallback, so it cannot SKIP: leave one of them out");
            }
            return new Fallback(fallback(fallback, site.method(), site.targetClass()));
        }
        return switch (onContention) {
            case THROW ->
                (contention, target, arguments) -> {
                    throw contention;
                };
            case SKIP -> {
                Supplier<@Nullable Object> nothing = nothing(site.method());
                yield (contention, target, arguments) -> nothing.get();
            }
        };
    }

    /**
     * Returns the result of a call that is skipped.
     *
     * @throws IllegalArgumentException if there is none; the message says why and what to do
     */
    static Supplier<@Nullable Object> nothing(Method method) {
        Class<?> type = method.getReturnType();
        if (type.isPrimitive() && type != void.class) {
            throw new IllegalArgumentException("it returns " + type
                    + ", so there is nothing to return when it is skipped: return an object, or name a fallback");
        }
        if (MethodChecks.returnsStage(method)) {
            return Contention::emptyStage;
        }
        Object empty = EMPTY.get(type);
        boolean mayBeNull = type == void.class || type == Void.class || NullableResult.isOf(method);
        if (empty == null && !mayBeNull) {
            throw new IllegalArgumentException("it would return null when it is skipped, but its result, of type "
                    + type.getTypeName() + ", is not @Nullable: add @Nullable, return an Optional, or name a fallback");
        }
        return () -> empty;
    }

    /** Returns a new stage each time, because a caller may complete it with another value. */
    @SuppressWarnings("FutureReturnValueIgnored") // it is the value that is returned
    private static Object emptyStage() {
        return CompletableFuture.completedFuture(null);
    }

    private static Method fallback(String name, Method method, Class<?> targetClass) {
        Class<?>[] parameters = method.getParameterTypes();
        Class<?>[] withCause = Arrays.copyOf(parameters, parameters.length + 1);
        withCause[parameters.length] = LockNotAcquiredException.class;
        Method found = ReflectionUtils.findMethod(targetClass, name, withCause);
        if (found == null) {
            found = ReflectionUtils.findMethod(targetClass, name, parameters);
        }
        if (found == null) {
            throw new IllegalArgumentException("there is no fallback method " + name + " in "
                    + targetClass.getTypeName()
                    + " with the same parameters, optionally followed by a LockNotAcquiredException");
        }
        if (found.equals(method)) {
            throw new IllegalArgumentException("it is its own fallback: name another method");
        }
        if (!ClassUtils.isAssignable(method.getReturnType(), found.getReturnType())) {
            throw new IllegalArgumentException("the result of fallback method " + name + " is a "
                    + found.getReturnType().getTypeName() + ", not a "
                    + method.getReturnType().getTypeName());
        }
        ReflectionUtils.makeAccessible(found);
        return found;
    }

    /** Calls another method of the bean. */
    record Fallback(Method method) implements Contention {

        @Override
        public @Nullable Object answer(
                LockNotAcquiredException contention, @Nullable Object target, @Nullable Object[] arguments)
                throws Throwable {
            @Nullable Object[] all = arguments;
            if (method.getParameterCount() > arguments.length) {
                all = Arrays.copyOf(arguments, arguments.length + 1);
                all[arguments.length] = contention;
            }
            try {
                return method.invoke(target, all);
            } catch (InvocationTargetException thrown) {
                throw thrown.getTargetException();
            }
        }
    }
}
