package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;

/** A {@link Limited} method is intercepted for its permits. It is not enough that something else intercepts it. */
class LimitedInterceptionTest {

    /** Which beans are put into the context, and what is said of them. */
    static Stream<Arguments> unreachable() {
        return Stream.of(
                of("registered by hand", c -> c.getBeanFactory().registerSingleton("larder", new Larder())),
                of("made too early", c -> c.register(NeedsLarder.class, Larder.class)),
                of("a proxy of an interface that has no annotation", c -> c.register(HiddenByOwnProxy.class)),
                of("a proxy of an interface that has only a lock", c -> c.register(LockedOnly.class)),
                of("the same, with the permits on the class", c -> c.register(LockedOnlyUnderClass.class)));
    }

    private static Arguments of(String name, Consumer<AnnotationConfigApplicationContext> beans) {
        return Arguments.argumentSet(name, beans);
    }

    @ParameterizedTest
    @MethodSource("unreachable")
    void whatIsNotLimitedDoesNotStart(Consumer<AnnotationConfigApplicationContext> beans) {
        try (var context = InterceptionTest.context(LockedConfiguration.class)) {
            beans.accept(context);
            assertThatThrownBy(context::refresh)
                    .hasStackTraceContaining("@Limited")
                    .hasStackTraceContaining("would run without permits");
        }
    }

    @Test
    void oneInterceptorAppliesBothAnnotations() {
        try (var context = InterceptionTest.context(LockedConfiguration.class)) {
            context.register(Pantry.class);
            context.refresh();
            assertThat(context.getBean(Pantry.class))
                    .isInstanceOfSatisfying(
                            Advised.class,
                            proxy -> assertThat(Arrays.stream(proxy.getAdvisors())
                                            .filter(advisor -> advisor.getAdvice() instanceof LockedInterceptor))
                                    .hasSize(1));
        }
    }

    static class Larder {
        @Limited(name = "larder", limit = "1")
        public void open() {}
    }

    static class Pantry {
        @Limited(limit = "1")
        @Locked
        public void open() {}
    }

    static class NeedsLarder implements BeanPostProcessor, Ordered {
        NeedsLarder(Larder early) {}

        @Override
        public int getOrder() {
            return Ordered.HIGHEST_PRECEDENCE;
        }
    }

    /** A proxy of an interface, which the application makes. */
    private static <T> T ownProxy(Class<T> type, T target) {
        ProxyFactory proxies = new ProxyFactory(new Class<?>[] {type});
        proxies.setTarget(target);
        return type.cast(proxies.getProxy());
    }

    static class HiddenByOwnProxy {
        static class Work implements Runnable {
            @Override
            @Limited(limit = "1")
            public void run() {}
        }

        @Bean
        Runnable work() {
            return ownProxy(Runnable.class, new Work());
        }
    }

    interface Door {
        @Locked("door")
        void open();
    }

    static class LockedOnly {
        static class Gate implements Door {
            @Override
            @Limited(name = "gate", limit = "1")
            public void open() {}
        }

        @Bean
        Door door() {
            return ownProxy(Door.class, new Gate());
        }
    }

    static class LockedOnlyUnderClass {
        @Limited(name = "gate", limit = "1")
        static class Shutter implements Door {
            @Override
            public void open() {}
        }

        @Bean
        Door door() {
            return ownProxy(Door.class, new Shutter());
        }
    }
}
