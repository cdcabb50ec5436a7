package io.github.holdfast.annotation.method;

import java.util.Arrays;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.Optional;
import java.util.Set;
import java.util.Spliterator;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.http.HttpEntity;
import org.springframework.util.ClassUtils;

/**
 * Recognizes results whose work is done, or may be done, after the method has returned: functions, lazy sequences, and asynchronous
 * results, plain or inside of another object.
 */
public final class DeferredWork {

    /** Types of libraries that may be absent. */
    private static final Set<String> NAMES = Set.of(
            "io.vavr.Lazy",
            "io.vavr.concurrent.Future",
            "kotlin.Function",
            "kotlin.Lazy",
            "kotlin.sequences.Sequence",
            "kotlinx.coroutines.Job",
            "kotlinx.coroutines.channels.ReceiveChannel",
            "kotlinx.coroutines.flow.Flow",
            "org.reactivestreams.Publisher",
            "org.springframework.data.util.Lazy",
            "org.springframework.util.function.SingletonSupplier",
            "org.springframework.web.context.request.async.DeferredResult",
            "org.springframework.web.context.request.async.WebAsyncTask",
            "org.springframework.web.servlet.function.AsyncServerResponse",
            "org.springframework.web.servlet.function.DefaultEntityResponseBuilder$CompletionStageEntityResponse",
            "org.springframework.web.servlet.function.DefaultEntityResponseBuilder$PublisherEntityResponse",
            "org.springframework.web.servlet.function.SseServerResponse",
            "org.springframework.web.servlet.function.StreamingServerResponse",
            "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter");

    /** More than any usual result; a limit for types whose arguments refer to themselves. */
    private static final int DEEPEST = 5;

    private static final boolean HAS_HTTP_ENTITY =
            ClassUtils.isPresent("org.springframework.http.HttpEntity", DeferredWork.class.getClassLoader());

    private static final ClassValue<Boolean> OF_VALUES = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            // Many classes implement a function in addition to something else. Lambdas and anonymous classes hardly do.
            return isDeferred(type)
                    || ((type.isHidden() || type.isAnonymousClass())
                            && ancestors(type).anyMatch(DeferredWork::isFunction)
                            && !Iterable.class.isAssignableFrom(type));
        }
    };

    private DeferredWork() {}

    /** Finds the type that carries work for later: the declared type itself, or one of its type arguments. */
    public static Optional<Class<?>> in(ResolvableType declared) {
        return in(declared, DEEPEST);
    }

    private static Optional<Class<?>> in(ResolvableType declared, int depth) {
        if (declared.isArray()) {
            return in(declared.getComponentType(), depth);
        }
        Class<?> type = declared.resolve(Object.class);
        if (isDeferred(type) || isFunction(type)) {
            return Optional.of(type);
        }
        if (depth == 0 || type == Class.class) {
            return Optional.empty();
        }
        return Arrays.stream(declared.getGenerics())
                .flatMap(argument -> in(argument, depth - 1).stream())
                .findFirst();
    }

    /**
     * Finds the class of an object that carries work for later: the result itself, or what an {@code Optional} or a response contains. No
     * collection is read: it may be lazy, or in use by other threads.
     */
    static Optional<Class<?>> in(@Nullable Object result) {
        Object content = result;
        if (content instanceof Optional<?> optional) {
            content = optional.orElse(null);
        } else if (HAS_HTTP_ENTITY && content instanceof HttpEntity<?> entity) {
            content = entity.getBody();
        }
        return content != null && OF_VALUES.get(content.getClass())
                ? Optional.of(content.getClass())
                : Optional.empty();
    }

    private static boolean isDeferred(Class<?> type) {
        return Future.class.isAssignableFrom(type)
                || CompletionStage.class.isAssignableFrom(type)
                || Flow.Publisher.class.isAssignableFrom(type)
                || Thread.class.isAssignableFrom(type)
                || BaseStream.class.isAssignableFrom(type)
                || Iterator.class.isAssignableFrom(type)
                || Spliterator.class.isAssignableFrom(type)
                || Enumeration.class.isAssignableFrom(type)
                || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null
                || ancestors(type).map(Class::getName).anyMatch(NAMES::contains);
    }

    /** Not a sequence such as Spring Data's {@code Streamable}, which is annotated as a function too. */
    private static boolean isFunction(Class<?> type) {
        return type.isInterface()
                && type.isAnnotationPresent(FunctionalInterface.class)
                && !Iterable.class.isAssignableFrom(type);
    }

    /** Returns the type with all its superclasses and interfaces. */
    private static Stream<Class<?>> ancestors(Class<?> type) {
        Stream<Class<?>> parents =
                Stream.concat(Stream.ofNullable(type.getSuperclass()), Arrays.stream(type.getInterfaces()));
        return Stream.concat(Stream.of(type), parents.flatMap(DeferredWork::ancestors));
    }
}
