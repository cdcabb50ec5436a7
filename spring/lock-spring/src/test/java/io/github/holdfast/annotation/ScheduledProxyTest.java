package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.entity.LockRun;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.RunInfo;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.util.ReflectionUtils;

/** What {@link ScheduledLock} does with beans that are proxies already. */
@OnDatabase(TestDatabase.H2_MEMORY)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ScheduledProxyTest {

    private Database database;
    private AnnotationConfigApplicationContext node;
    private LockService locks;

    @BeforeAll
    void start(Database injected) {
        database = injected;
        node = Node.on(database);
        locks = node.getBean(LockService.class);
    }

    @AfterAll
    void stop() {
        node.close();
    }

    interface Purge {

        @ScheduledLock(name = "${task}", every = "365d")
        void run();

        int runs();
    }

    static class Job extends Work implements Purge {

        @Override
        public void run() {
            super.run();
        }
    }

    /** Does not know the interface. */
    static class Work {

        private final AtomicInteger runs = new AtomicInteger();

        public void run() {
            runs.incrementAndGet();
        }

        public int runs() {
            return runs.get();
        }
    }

    static class Inherited extends Work implements Purge {}

    /** Does the work of a {@link Purge} without a class that implements it. */
    static class Handler implements InvocationHandler, MethodInterceptor {

        private final Job job = new Job();

        @Override
        public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) {
            return invoke(method, arguments == null ? new Object[0] : arguments);
        }

        @Override
        public @Nullable Object invoke(MethodInvocation invocation) {
            return invoke(invocation.getMethod(), invocation.getArguments());
        }

        private @Nullable Object invoke(Method method, @Nullable Object[] arguments) {
            ReflectionUtils.makeAccessible(method);
            return ReflectionUtils.invokeMethod(method, job, arguments);
        }
    }

    static Stream<Arguments> proxies() {
        return Stream.of(
                of("of Java", handler -> (Purge)
                        Proxy.newProxyInstance(Purge.class.getClassLoader(), new Class<?>[] {Purge.class}, handler)),
                of("of a client, without a target", handler -> ProxyFactory.getProxy(Purge.class, handler)),
                of("of a repository, with a target of another type", handler -> {
                    ProxyFactory proxies = new ProxyFactory(Purge.class, handler);
                    proxies.setTarget(new Object());
                    return (Purge) proxies.getProxy();
                }),
                of("of another proxy", handler -> {
                    ProxyFactory proxies = new ProxyFactory(ProxyFactory.getProxy(Purge.class, handler));
                    proxies.setProxyTargetClass(true);
                    return (Purge) proxies.getProxy();
                }),
                of("of a class that inherits the method", handler -> new Inherited()),
                of("of a class", handler -> proxyOfClass(new Job())),
                of("of a class, in another proxy", handler -> proxyOfClass(proxyOfClass(new Job()))));
    }

    private static Arguments of(String name, Function<Handler, Purge> proxy) {
        return Arguments.argumentSet(name, name, proxy);
    }

    private static Purge proxyOfClass(Purge target) {
        ProxyFactory proxies = new ProxyFactory(target);
        proxies.setProxyTargetClass(true);
        return (Purge) proxies.getProxy();
    }

    @ParameterizedTest
    @MethodSource("proxies")
    void aProxyRunsOnceInItsPeriod(String task, Function<Handler, Purge> proxy) {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", Map.of("task", task)));
            context.register(ScheduledLockConfiguration.class);
            context.registerBean(LockService.class, () -> locks, definition -> definition.setDestroyMethodName(""));
            context.registerBean(Purge.class, () -> proxy.apply(new Handler()));
            context.refresh();
            Purge purge = context.getBean(Purge.class);
            purge.run();
            purge.run();
            assertThat(purge.runs()).isEqualTo(1);
            assertThat(runs(task)).containsExactly(LockRun.Status.SUCCEEDED);
        }
    }

    @Test
    void aBeanWithTwoNamesRunsByBoth() {
        try (AnnotationConfigApplicationContext context =
                Node.on(database, ScheduledLockConfiguration.class, TwoNames.class)) {
            assertThat(context.getBean("first", Counter.class).run(1)).isEqualTo(1);
            assertThat(context.getBean("second", Counter.class).run(2)).isNull();
            assertThat(context.getBean("second", Counter.class).runAgain(3)).isEqualTo(3);
            assertThat(runs("two names")).containsExactly(LockRun.Status.SUCCEEDED);
        }
    }

    @Test
    void aBeanWithTwoNamesIsOneObjectWhateverItsAdvice() {
        try (AnnotationConfigApplicationContext context = Node.on(
                database, ScheduledLockConfiguration.class, Transactions.class, TwoNamesWithTransactions.class)) {
            assertThat(context.getBean("second")).isSameAs(context.getBean("first"));
            assertThat(context.getBean("second", Sales.class).count()).isEqualTo(1);
            assertThat(context.getBean("first", Sales.class).count()).isNull();
            assertThat(runs("sales")).containsExactly(LockRun.Status.SUCCEEDED);
        }
    }

    @Test
    void aBeanAndAProxyOfItAreOneTask() {
        try (AnnotationConfigApplicationContext context =
                Node.on(database, ScheduledLockConfiguration.class, Decorated.class)) {
            assertThat(context.getBean("second", Clock.class).tick(1)).isEqualTo(1);
            assertThat(context.getBean("first", Clock.class).tick(2)).isNull();
            assertThat(context.getBean("second", Clock.class).tick(3)).isNull();
            assertThat(runs("clock")).containsExactly(LockRun.Status.SUCCEEDED);
        }
    }

    private List<LockRun.Status> runs(String task) {
        return locks.admin().runs(task, Long.MAX_VALUE, 10).stream()
                .map(RunInfo::status)
                .toList();
    }

    static class Counter {
        @ScheduledLock(name = "two names", every = "365d")
        public @Nullable Integer run(int number) {
            return number;
        }

        @ScheduledLock(name = "two names again", every = "365d")
        public @Nullable Integer runAgain(int number) {
            return number;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class TwoNames {
        @Bean
        Counter first() {
            return new Counter();
        }

        @Bean
        Counter second(@Qualifier("first") Counter first) {
            return first;
        }
    }

    interface Clock {
        @ScheduledLock(name = "clock", every = "365d")
        @Nullable
        Integer tick(int number);
    }

    @Configuration(proxyBeanMethods = false)
    static class Decorated {
        @Bean
        Clock first() {
            return new Clock() {
                @Override
                public Integer tick(int number) {
                    return number;
                }
            };
        }

        @Bean
        Clock second(@Qualifier("first") Clock first) {
            ProxyFactory proxies = new ProxyFactory(first);
            proxies.addAdvice((MethodInterceptor) MethodInvocation::proceed);
            return (Clock) proxies.getProxy();
        }
    }

    @EnableTransactionManagement
    static class Transactions {}

    static class Sales {
        @Transactional
        @Locked("sales lock")
        @ScheduledLock(name = "sales", every = "365d")
        public @Nullable Integer count() {
            return 1;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class TwoNamesWithTransactions {
        @Bean
        Sales first() {
            return new Sales();
        }

        @Bean
        Sales second(@Qualifier("first") Sales first) {
            return first;
        }
    }
}
