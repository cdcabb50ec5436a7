package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.annotation.Locked.Fence;
import io.github.holdfast.annotation.Locked.OnContention;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import java.util.stream.Stream;
import kotlin.Metadata;
import kotlin.coroutines.Continuation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.annotation.Transactional;
import reactor.core.publisher.Mono;

/** A {@link Limited} that would not work as it is written is refused as a {@link Locked} is. */
class LimitedStartupTest {

    static Stream<Arguments> mistakes() {
        return Stream.of(
                Arguments.of(BadSpel.class, "text with SpEL expressions in braces"),
                Arguments.of(BadWait.class, "waitAtMost 'soon' is not a duration: write '500ms'"),
                Arguments.of(BadLease.class, "the lease must be from"),
                Arguments.of(BadName.class, "name"),
                Arguments.of(BadLimit.class, "limit 'many' is not a number: write '3'"),
                Arguments.of(EmptyLimit.class, "limit '' is not a number"),
                Arguments.of(WrongProperty.class, "limit 'eu' is not a number"),
                Arguments.of(UnknownProperty.class, "names a property that is not set"),
                Arguments.of(ZeroLimit.class, "The limit must be at least 1, but is 0"),
                Arguments.of(ZeroPermits.class, "The number of permits must be at least 1, but is 0"),
                Arguments.of(TooManyPermits.class, "it needs 4 permits, but the limit is 3"),
                Arguments.of(Twice.class, "leave one"),
                Arguments.of(NameOfLock.class, "its name 'exports:{#id}' is also that of its @Locked"),
                Arguments.of(PrivateMethod.class, "call it from another bean"),
                Arguments.of(StaticMethod.class, "call it from another bean"),
                Arguments.of(FinalMethod.class, "make it overridable"),
                Arguments.of(AsyncMethod.class, "Call a @Limited method of another bean from the @Async method"),
                Arguments.of(Reactive.class, "its result is reactive"),
                Arguments.of(Suspending.class, "it is a suspend function"),
                Arguments.of(PlainFuture.class, "return a CompletionStage"),
                Arguments.of(LaterWork.class, "carries work (java.util.function.Supplier)"),
                Arguments.of(SkippedPrimitive.class, "return an object, or name a fallback"),
                Arguments.of(NoFallback.class, "there is no fallback method missing"));
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void mistakeIsNamedWithBeanMethodAndCure(Class<?> bean, String cure) {
        assertThatThrownBy(() -> LockedStartupTest.start(bean).close())
                .hasStackTraceContaining("@Limited cannot be used on " + bean.getName() + ".work(")
                .hasStackTraceContaining("Bean 'limitedStartupTest." + bean.getSimpleName() + "'")
                .hasStackTraceContaining(cure);
    }

    @Test
    void whatIsRightStartsWithoutTheService() {
        try (var context = LockedStartupTest.start(Right.class)) {
            assertThat(context.getBean(Right.class)).isNotNull();
        }
    }

    @Test
    void lockServiceMustBeThere() {
        assertThatThrownBy(() -> new AnnotationConfigApplicationContext(LockedConfiguration.class, Plain.class))
                .hasMessageContaining("There are @Limited methods, but no LockService");
        assertThatThrownBy(() -> new AnnotationConfigApplicationContext(LockedConfiguration.class, Right.class))
                .hasMessageContaining("There are @Limited and @Locked methods, but no LockService");
    }

    @Test
    void transactionsOutsideThePermitsAreRefused() {
        assertThatThrownBy(() -> LockedStartupTest.start(LockedStartupTest.OuterTransactions.class, InTransaction.class)
                        .close())
                .hasMessageContaining("Bean 'limitedStartupTest.InTransaction'")
                .hasMessageContaining("@Limited")
                .hasMessageContaining("released before the commit");
    }

    static class BadSpel {
        @Limited(name = "exports:{#id.}", limit = "1")
        public void work(String id) {}
    }

    static class BadWait {
        @Limited(limit = "1", waitAtMost = "soon")
        public void work() {}
    }

    static class BadLease {
        @Limited(limit = "1", lease = "0s")
        public void work() {}
    }

    static class BadName {
        @Limited(name = " exports", limit = "1")
        public void work() {}
    }

    static class BadLimit {
        @Limited(limit = "many")
        public void work() {}
    }

    static class EmptyLimit {
        @Limited(limit = "")
        public void work() {}
    }

    static class WrongProperty {
        @Limited(limit = "${holdfast.test.area:3}")
        public void work() {}
    }

    static class UnknownProperty {
        @Limited(limit = "${holdfast.test.unknown}")
        public void work() {}
    }

    static class ZeroLimit {
        @Limited(limit = "0")
        public void work() {}
    }

    static class ZeroPermits {
        @Limited(limit = "1", permits = 0)
        public void work() {}
    }

    static class TooManyPermits {
        @Limited(limit = "3", permits = 4)
        public void work() {}
    }

    static class Twice {
        @Limited(limit = "1")
        @Scarce
        public void work() {}
    }

    @Limited(limit = "2")
    @Retention(RetentionPolicy.RUNTIME)
    @interface Scarce {}

    static class NameOfLock {
        @Limited(name = "exports:{#id}", limit = "1")
        @Locked("exports")
        @Locked("exports:{#id}")
        public void work(String id) {}
    }

    static class PrivateMethod {
        @Limited(limit = "1")
        @SuppressWarnings("UnusedMethod")
        private void work() {}
    }

    static class StaticMethod {
        @Limited(limit = "1")
        public static void work() {}
    }

    static class FinalMethod {
        @Limited(limit = "1")
        public final void work() {}
    }

    static class AsyncMethod {
        @Async
        @Limited(limit = "1")
        public void work() {}
    }

    /** As Kotlin's compiler makes it. */
    @Metadata
    static class Suspending {
        @Limited(limit = "1")
        public Object work(Continuation<? super String> continuation) {
            return continuation;
        }
    }

    static class Reactive {
        @Limited(limit = "1")
        public Mono<String> work() {
            return Mono.empty();
        }
    }

    static class LaterWork {
        @Limited(name = "work", limit = "2")
        public Optional<Supplier<String>> work() {
            return Optional.empty();
        }
    }

    static class PlainFuture {
        @Limited(limit = "1")
        public Future<String> work() {
            throw new AssertionError("It is not called");
        }
    }

    static class SkippedPrimitive {
        @Limited(limit = "1", onContention = OnContention.SKIP)
        public boolean work() {
            return true;
        }
    }

    static class NoFallback {
        @Limited(limit = "1", fallback = "missing")
        public void work() {}
    }

    static class Plain {
        @Limited(limit = "1")
        public void work() {}
    }

    static class Right {
        @Limited(
                name = "${holdfast.test.area:none}:{#root.method.name}:{#id}",
                limit = " ${holdfast.test.limit:3}",
                permits = 3,
                waitAtMost = "${holdfast.test.wait:1s}",
                lease = "PT20S",
                fence = Fence.NONE)
        @Locked(name = "three", rowLock = true, onContention = OnContention.SKIP)
        public Optional<String> work(String id) {
            return Optional.of(id);
        }
    }

    static class InTransaction {
        @Limited(limit = "1")
        @Transactional
        public void work() {}
    }
}
