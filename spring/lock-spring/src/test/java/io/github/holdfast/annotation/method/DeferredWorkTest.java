package io.github.holdfast.annotation.method;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Spliterator;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import kotlin.Lazy;
import kotlin.jvm.functions.Function0;
import kotlin.sequences.Sequence;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import org.springframework.core.ResolvableType;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.PageImpl;
import org.springframework.data.util.Streamable;
import org.springframework.http.ResponseEntity;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.context.request.async.WebAsyncTask;
import org.springframework.web.servlet.function.EntityResponse;
import org.springframework.web.servlet.function.ServerResponse;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Which results carry work that is done after the method has returned. */
class DeferredWorkTest {

    /** Results that do. */
    interface Later {
        Runnable runnable();

        Callable<String> callable();

        Supplier<String> supplier();

        BooleanSupplier condition();

        Consumer<String> consumer();

        BiFunction<String, String, String> function();

        FutureTask<String> task();

        Thread thread();

        Future<String> future();

        CompletionStage<String> stage();

        Flow.Publisher<String> publisher();

        Publisher<String> publisherOfReactiveStreams();

        Mono<String> mono();

        Flux<String> flux();

        Stream<String> stream();

        IntStream numbers();

        Iterator<String> iterator();

        Spliterator<String> spliterator();

        Enumeration<String> enumeration();

        DeferredResult<String> deferredResult();

        WebAsyncTask<String> webTask();

        SseEmitter events();

        StreamingResponseBody body();

        Function0<String> kotlinFunction();

        Lazy<String> kotlinLazy();

        Sequence<String> kotlinSequence();

        kotlinx.coroutines.flow.Flow<String> kotlinFlow();

        List<kotlinx.coroutines.flow.Flow<String>> kotlinFlows();

        org.springframework.data.util.Lazy<String> springLazy();

        SingletonSupplier<String> singletonSupplier();

        Optional<Callable<String>> optional();

        List<CompletableFuture<String>> futures();

        List<? extends Supplier<String>> suppliers();

        Map<String, List<Runnable>> map();

        Callable<?>[] array();

        List<Runnable>[] arrayOfLists();

        ResponseEntity<StreamingResponseBody> entity();

        CompletionStage<Optional<Mono<String>>> inside();
    }

    /** An object of the application that can be run, too. */
    static class Command implements Runnable {
        @Override
        public void run() {}
    }

    /** Results that do not, or whose type does not show it. */
    interface Done {
        void nothing();

        int number();

        String text();

        List<String> list();

        Map<String, List<Integer>> map();

        Optional<String> optional();

        ResponseEntity<byte[]> entity();

        Page<String> page();

        Streamable<String> streamable();

        Class<Runnable> type();

        Command command();

        Object object();

        <T extends Comparable<T>> Optional<T> any(T itself);

        byte[] bytes();
    }

    /** Of values, whatever the declared type. */
    static Map<String, @Nullable Object> valuesForLater() {
        Map<String, @Nullable Object> values = new LinkedHashMap<>();
        values.put("runnable", (Runnable) () -> {});
        values.put("callable", (Callable<String>) () -> "");
        values.put("supplier", (Supplier<String>) () -> "");
        values.put("reference", (Supplier<String>) "a"::trim);
        values.put("comparator by a lambda", (Comparator<String>) String::compareTo);
        values.put("future", new FutureTask<>(() -> ""));
        values.put("stage", new CompletableFuture<>());
        values.put("mono", Mono.just(1));
        values.put("stream", Stream.of(1));
        values.put("iterator", List.of(1).iterator());
        values.put("deferred result", new DeferredResult<>());
        values.put("emitter", new SseEmitter());
        values.put("asynchronous response", ServerResponse.async(new CompletableFuture<>()));
        values.put("streamed response", ServerResponse.ok().stream(stream -> {}));
        values.put("events response", ServerResponse.sse(events -> {}));
        values.put(
                "stage in a response",
                EntityResponse.fromObject(new CompletableFuture<>()).build());
        values.put(
                "publisher in a response",
                EntityResponse.fromObject(Mono.just(1)).build());
        values.put("optional", Optional.of(Mono.just(1)));
        values.put("entity", ResponseEntity.ok(Flux.just(1)));
        values.put("anonymous class", new Callable<String>() {
            @Override
            public String call() {
                return "";
            }
        });
        return values;
    }

    static Map<String, @Nullable Object> valuesThatAreDone() {
        Map<String, @Nullable Object> values = new LinkedHashMap<>();
        values.put("null", null);
        values.put("text", "text");
        values.put("list", List.of("a", 1));
        values.put("map", Map.of("a", List.of()));
        values.put("page", new PageImpl<>(List.of("a")));
        values.put("streamable", Streamable.of("a"));
        values.put("command", new Command());
        values.put("futures", List.of(new CompletableFuture<>()));
        values.put("entity", ResponseEntity.noContent().build());
        values.put("response", ServerResponse.ok().body("text"));
        values.put("empty", Optional.empty());
        values.put("numbers", new int[] {1});
        return values;
    }

    private static Stream<Method> methods(Class<?> declaring) {
        return Arrays.stream(declaring.getDeclaredMethods());
    }

    static Stream<Method> later() {
        return methods(Later.class);
    }

    static Stream<Method> done() {
        return methods(Done.class);
    }

    @ParameterizedTest
    @MethodSource("later")
    void theDeclaredTypeShowsIt(Method method) {
        assertThat(DeferredWork.in(ResolvableType.forMethodReturnType(method))).isPresent();
    }

    @ParameterizedTest
    @MethodSource("done")
    void otherTypesAreNotRefused(Method method) {
        assertThat(DeferredWork.in(ResolvableType.forMethodReturnType(method))).isEmpty();
    }

    static Stream<Map.Entry<String, @Nullable Object>> laterValues() {
        return valuesForLater().entrySet().stream();
    }

    @ParameterizedTest
    @MethodSource("laterValues")
    void theValueShowsIt(Map.Entry<String, @Nullable Object> result) {
        assertThat(DeferredWork.in(result.getValue())).isPresent();
    }

    static Stream<Map.Entry<String, @Nullable Object>> doneValues() {
        return valuesThatAreDone().entrySet().stream();
    }

    @ParameterizedTest
    @MethodSource("doneValues")
    void otherValuesAreReturned(Map.Entry<String, @Nullable Object> result) {
        assertThat(DeferredWork.in(result.getValue())).isEmpty();
    }
}
