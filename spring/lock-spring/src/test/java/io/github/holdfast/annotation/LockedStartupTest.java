package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.annotation.Locked.Fence;
import io.github.holdfast.annotation.Locked.OnContention;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.service.LockService;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import kotlin.Metadata;
import kotlin.coroutines.Continuation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.core.Ordered;
import org.springframework.core.env.MapPropertySource;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.MatchAlwaysTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import reactor.core.publisher.Mono;

/** What would not work as it is written is refused when the application starts. No lock service is made for that. */
class LockedStartupTest {

    private static final Map<String, Object> PROPERTIES =
            Map.of("holdfast.test.wait", "250ms", "holdfast.test.area", "eu");

    static AnnotationConfigApplicationContext start(Class<?>... classes) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", PROPERTIES));
        context.registerBean(
                LockService.class,
                () -> {
                    throw new AssertionError("The lock service is made before it is needed");
                },
                definition -> definition.setLazyInit(true));
        context.register(LockedConfiguration.class);
        context.register(classes);
        context.refresh();
        return context;
    }

    static Stream<Arguments> mistakes() {
        return Stream.of(
                Arguments.of(BadSpel.class, "text with SpEL expressions in braces"),
                Arguments.of(LazyBadSpel.class, "text with SpEL expressions in braces"),
                Arguments.of(PrototypeBadSpel.class, "text with SpEL expressions in braces"),
                Arguments.of(OpenBrace.class, "text with SpEL expressions in braces"),
                Arguments.of(NoBraces.class, "put expressions in braces, such as '{#id}'"),
                Arguments.of(InnerNoBraces.class, "'#id' is taken literally in 'stock:#id'"),
                Arguments.of(HashBraces.class, "expressions are in braces alone, such as 'stock:{#id}'"),
                Arguments.of(NoHash.class, "'id' is not the parameter: write '#id'"),
                Arguments.of(NoSuchProperty.class, "there is no property 'nope' in java.lang.String"),
                Arguments.of(LaterWork.class, "carries work (java.util.concurrent.Callable)"),
                Arguments.of(LaterWorks.class, "carries work (java.util.concurrent.CompletableFuture)"),
                Arguments.of(LaterInStage.class, "carries work (java.util.stream.Stream)"),
                Arguments.of(UnknownParameter.class, "'#order' is unknown: there is no such parameter"),
                Arguments.of(UnknownProperty.class, "names a property that is not set"),
                Arguments.of(BadWait.class, "waitAtMost 'soon' is not a duration: write '500ms'"),
                Arguments.of(NegativeWait.class, "the wait time must be from 0 s"),
                Arguments.of(BadLease.class, "the lease must be from"),
                Arguments.of(BadName.class, "name"),
                Arguments.of(LeasedRow.class, "it cannot have a lease"),
                Arguments.of(FairRow.class, "cannot be notReentrant, interruptOnLoss or fair"),
                Arguments.of(SharedRow.class, "it cannot be a row lock"),
                Arguments.of(StagedRow.class, "remove rowLock"),
                Arguments.of(FencedStage.class, "remove fence"),
                Arguments.of(PrivateMethod.class, "call it from another bean"),
                Arguments.of(StaticMethod.class, "call it from another bean"),
                Arguments.of(FinalMethod.class, "make it overridable"),
                Arguments.of(FinalUnderClass.class, "make it overridable"),
                Arguments.of(AsyncMethod.class, "Call a @Locked method of another bean from the @Async method"),
                Arguments.of(AsyncClass.class, "Call a @Locked method of another bean from the @Async method"),
                Arguments.of(Reactive.class, "its result is reactive"),
                Arguments.of(Suspending.class, "it is a suspend function"),
                Arguments.of(PlainFuture.class, "return a CompletionStage"),
                Arguments.of(OwnFuture.class, "declare CompletionStage or CompletableFuture"),
                Arguments.of(SkippedPrimitive.class, "return an object, or name a fallback"),
                Arguments.of(SkippedObject.class, "add @Nullable, return an Optional, or name a fallback"),
                Arguments.of(NoFallback.class, "there is no fallback method missing"),
                Arguments.of(WrongFallback.class, "is a java.lang.Integer, not a java.lang.String"),
                Arguments.of(OwnFallback.class, "it is its own fallback"),
                Arguments.of(SkipAndFallback.class, "leave one of them out"),
                Arguments.of(DifferentPolicies.class, "must agree on onContention and fallback"));
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void mistakeIsNamedWithBeanMethodAndCure(Class<?> bean, String cure) {
        assertThatThrownBy(() -> start(bean).close())
                .hasStackTraceContaining("@Locked cannot be used on " + bean.getName() + ".work(")
                .hasStackTraceContaining("Bean 'lockedStartupTest." + bean.getSimpleName() + "'")
                .hasStackTraceContaining(cure);
    }

    @Test
    void whatIsRightStartsWithoutTheService() {
        try (var context = start(Right.class)) {
            assertThat(context.getBean(Right.class)).isNotNull();
        }
    }

    @Test
    void lockServiceMustBeThere() {
        assertThatThrownBy(() -> new AnnotationConfigApplicationContext(LockedConfiguration.class, Right.class))
                .hasMessageContaining("no LockService");
    }

    @Test
    void nothingIsOutsideAnAdvisorOfTheHighestPrecedence() {
        assertThatThrownBy(() ->
                        start(HighestPrecedence.class, InTransaction.class).close())
                .hasStackTraceContaining("give @EnableTransactionManagement a greater one");
    }

    @Test
    void transactionsOutsideTheLockAreRefused() {
        assertThatThrownBy(() ->
                        start(OuterTransactions.class, InTransaction.class).close())
                .hasMessageContaining("Bean 'lockedStartupTest.InTransaction'")
                .hasMessageContaining("released before the commit");
    }

    @Test
    void beanThatIsMadeTooEarlyIsRefused() {
        assertThatThrownBy(() -> start(NeedsRight.class, Right.class).close())
                .hasMessageContaining("Bean 'lockedStartupTest.Right'")
                .hasMessageContaining("created it too early");
    }

    static class InnerNoBraces {
        @Locked("stock:#id")
        public void work(String id) {}
    }

    static class HashBraces {
        @Locked("stock:#{#id}")
        public void work(String id) {}
    }

    static class NoHash {
        @Locked("stock:{id}")
        public void work(String id) {}
    }

    static class NoSuchProperty {
        @Locked("stock:{#id.nope}")
        public void work(String id) {}
    }

    static class LaterWork {
        @Locked
        public Callable<String> work() {
            return () -> "done";
        }
    }

    static class LaterWorks {
        @Locked
        public List<CompletableFuture<String>> work() {
            return List.of();
        }
    }

    static class LaterInStage {
        @Locked
        public CompletionStage<Stream<String>> work() {
            return CompletableFuture.completedStage(Stream.empty());
        }
    }

    static class BadSpel {
        @Locked("order:{#id.}")
        public void work(String id) {}
    }

    @Lazy
    static class LazyBadSpel {
        @Locked("order:{#id.}")
        public void work(String id) {}
    }

    @Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
    static class PrototypeBadSpel {
        @Locked("order:{#id.}")
        public void work(String id) {}
    }

    static class OpenBrace {
        @Locked("order:{#id")
        public void work(String id) {}
    }

    static class NoBraces {
        @Locked("#id")
        public void work(String id) {}
    }

    static class UnknownParameter {
        @Locked("order:{#order.id}")
        public void work(String id) {}
    }

    static class UnknownProperty {
        @Locked("${holdfast.test.unknown}:order")
        public void work() {}
    }

    static class BadWait {
        @Locked(waitAtMost = "soon")
        public void work() {}
    }

    static class NegativeWait {
        @Locked(waitAtMost = "-1s")
        public void work() {}
    }

    static class BadLease {
        @Locked(lease = "0s")
        public void work() {}
    }

    static class BadName {
        @Locked(" order")
        public void work() {}
    }

    static class LeasedRow {
        @Locked(lease = "1s", rowLock = true)
        public void work() {}
    }

    static class FairRow {
        @Locked(fair = true, rowLock = true)
        public void work() {}
    }

    static class SharedRow {
        @Locked(mode = LockMode.SHARED, rowLock = true)
        public void work() {}
    }

    static class StagedRow {
        @Locked(rowLock = true)
        public CompletableFuture<String> work() {
            return new CompletableFuture<>();
        }
    }

    static class FencedStage {
        @Locked(fence = Locked.Fence.REQUIRED)
        public CompletableFuture<String> work() {
            return new CompletableFuture<>();
        }
    }

    static class PrivateMethod {
        @Locked
        @SuppressWarnings("UnusedMethod")
        private void work() {}
    }

    static class StaticMethod {
        @Locked
        public static void work() {}
    }

    static class FinalMethod {
        @Locked
        public final void work() {}
    }

    @Locked
    static class FinalUnderClass {
        public final void work() {}
    }

    static class AsyncMethod {
        @Async
        @Locked
        public void work() {}
    }

    @Async
    static class AsyncClass {
        @Locked
        public void work() {}
    }

    /** As Kotlin's compiler makes it. */
    @Metadata
    static class Suspending {
        @Locked
        public Object work(Continuation<? super String> continuation) {
            return continuation;
        }
    }

    static class Reactive {
        @Locked
        public Mono<String> work() {
            return Mono.empty();
        }
    }

    static class PlainFuture {
        @Locked
        public Future<String> work() {
            return new CompletableFuture<>();
        }
    }

    static class OwnFuture {
        static class Promise<T> extends CompletableFuture<T> {}

        @Locked
        public Promise<String> work() {
            return new Promise<>();
        }
    }

    static class SkippedPrimitive {
        @Locked(onContention = OnContention.SKIP)
        public boolean work() {
            return true;
        }
    }

    static class SkippedObject {
        @Locked(onContention = OnContention.SKIP)
        public String work() {
            return "done";
        }
    }

    static class NoFallback {
        @Locked(fallback = "missing")
        public void work() {}

        public void missing(String parameter) {}
    }

    static class WrongFallback {
        @Locked(fallback = "instead")
        public String work() {
            return "";
        }

        public Integer instead(LockNotAcquiredException contention) {
            return 1;
        }
    }

    static class OwnFallback {
        @Locked(fallback = "work")
        public void work() {}
    }

    static class SkipAndFallback {
        @Locked(fallback = "instead", onContention = OnContention.SKIP)
        public void work() {}

        public void instead() {}
    }

    static class DifferentPolicies {
        @Locked("one")
        @Locked(name = "two", onContention = OnContention.SKIP)
        public void work() {}
    }

    static class Right {
        @Locked("${holdfast.test.area:none}:{#root.method.name}:{#p0}:{#id.length()}:{#root.args[0]}")
        @Locked(name = "two", waitAtMost = "${holdfast.test.wait:1s}", lease = "PT20S", fence = Fence.NONE)
        @Locked(name = "three", rowLock = true)
        public Optional<String> work(String id) {
            return Optional.of(id);
        }
    }

    static class InTransaction {
        @Locked
        @Transactional
        public void work() {}
    }

    @EnableTransactionManagement(order = Ordered.HIGHEST_PRECEDENCE)
    static class HighestPrecedence {}

    /** Transactions that Spring's advisor knows nothing of. */
    static class OuterTransactions implements BeanPostProcessor {
        @Override
        public @Nullable Object postProcessAfterInitialization(Object bean, String beanName) {
            if (!beanName.endsWith("InTransaction")) {
                return bean;
            }
            ProxyFactory proxies = new ProxyFactory(bean);
            proxies.setProxyTargetClass(true);
            TransactionInterceptor transactions = new TransactionInterceptor();
            transactions.setTransactionAttributeSource(new MatchAlwaysTransactionAttributeSource());
            proxies.addAdvice(transactions);
            return proxies.getProxy();
        }
    }

    static class NeedsRight implements BeanPostProcessor, Ordered {
        NeedsRight(Right early) {}

        @Override
        public int getOrder() {
            return Ordered.HIGHEST_PRECEDENCE;
        }
    }
}
