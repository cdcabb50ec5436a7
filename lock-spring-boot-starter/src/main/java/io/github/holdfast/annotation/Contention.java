package io.github.holdfast.annotation;

import io.github.holdfast.annotation.Locked.OnContention;
import io.github.holdfast.lock.LockNotAcquiredException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Nullness;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** The action that replaces a method call when another owner holds the method's lock. */
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
     * Reads the action from the annotations of one method.
     *
     * @throws IllegalArgumentException if the annotations are wrong; the message says why and what to do
     */
    static Contention of(List<Locked> annotations, Method method, Class<?> targetClass) {
        Locked first = annotations.get(0);
        for (Locked other : annotations) {
            if (other.onContention() != first.onContention()
                    || !other.fallback().equals(first.fallback())) {
                throw new IllegalArgumentException("its @Locked annotations must agree on onContention and fallback");
            }
        }
        if (!first.fallback().isEmpty()) {
            if (first.onContention() == OnContention.SKIP) {
                throw new IllegalArgumentException("it has a fallback, so it cannot SKIP: leave one of them out");
            }
            return new Fallback(fallback(first.fallback(), method, targetClass));
        }
        return switch (first.onContention()) {
            case THROW ->
                (contention, target, arguments) -> {
                    throw contention;
                };
            case SKIP -> {
                Supplier<@Nullable Object> nothing = nothing(method);
                yield (contention, target, arguments) -> nothing.get();
            }
        };
    }

    private static Supplier<@Nullable Object> nothing(Method method) {
        Class<?> type = method.getReturnType();
        if (type.isPrimitive() && type != void.class) {
            throw new IllegalArgumentException("it returns a " + type
                    + ", so there is nothing to return when it is skipped: return an object, or name a fallback");
        }
        if (MethodChecks.returnsStage(method)) {
            return Contention::emptyStage;
        }
        Object empty = EMPTY.get(type);
        boolean mayBeNull =
                type == void.class || type == Void.class || Nullness.forMethodReturnType(method) == Nullness.NULLABLE;
        if (empty == null && !mayBeNull) {
            throw new IllegalArgumentException("it would return null when it is skipped, but its result, a "
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
