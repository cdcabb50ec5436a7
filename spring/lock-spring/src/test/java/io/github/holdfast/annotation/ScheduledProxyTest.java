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
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.util.ReflectionUtils;

/** What {@link ScheduledLock} does with beans that are proxies already. */
@OnDatabase(TestDatabase.H2_MEMORY)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ScheduledProxyTest {

    private AnnotationConfigApplicationContext node;
    private LockService locks;

    @BeforeAll
    void start(Database database) {
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

    private List<LockRun.Status> runs(String task) {
        return locks.admin().runs(task, Long.MAX_VALUE, 10).stream()
                .map(RunInfo::status)
                .toList();
    }
}
