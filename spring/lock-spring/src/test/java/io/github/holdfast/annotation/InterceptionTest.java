package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.service.LockService;
import jakarta.annotation.PostConstruct;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.aopalliance.aop.Advice;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.core.Ordered;
import org.springframework.core.PriorityOrdered;
import org.springframework.core.env.Environment;
import org.springframework.samples.holdfast.Kennel;
import org.springframework.test.context.ContextConfiguration;
import org.springframework.test.context.TestContextManager;
import org.springframework.test.context.bean.override.convention.TestBean;

/** A method that has an annotation is intercepted, whatever its bean is and whoever makes it, or the application does not start. */
class InterceptionTest {

    static AnnotationConfigApplicationContext context(Class<?> configuration) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        context.registerBean(
                LockService.class,
                () -> {
                    throw new AssertionError("The lock service is made before it is needed");
                },
                definition -> definition.setLazyInit(true));
        context.register(configuration);
        return context;
    }

    private static boolean isIntercepted(Object bean, Class<? extends Advice> interceptor) {
        return bean instanceof Advised proxy
                && Arrays.stream(proxy.getAdvisors()).anyMatch(advisor -> interceptor.isInstance(advisor.getAdvice()));
    }

    @Test
    void aPackageOfSpringIsLikeAnyOther() {
        try (var context = context(LockedConfiguration.class)) {
            context.register(Kennel.class);
            context.refresh();
            assertThat(isIntercepted(context.getBean(Kennel.class), LockedInterceptor.class))
                    .isTrue();
        }
    }

    /** Which beans are put into the context, and what is said of them. */
    static Stream<Arguments> unreachable() {
        return Stream.of(
                of("registered by hand", c -> c.getBeanFactory().registerSingleton("kennel", new Kennel())),
                of("made too early", c -> c.register(NeedsKennel.class, Kennel.class)),
                of("made too early, without an annotation on its definition", c -> {
                    c.register(NeedsKennel.class);
                    c.registerBeanDefinition("kennel", new RootBeanDefinition(Kennel.class));
                }),
                of("made too early by a factory", c -> c.register(NeedsKennel.class, Factory.class)),
                of("a post-processor", c -> c.register(Processor.class)),
                of("infrastructure of Spring's AOP", c -> c.register(Infrastructure.class)),
                of("only visible in another package", c -> c.register(ForeignCage.class)));
    }

    private static Arguments of(String name, Consumer<AnnotationConfigApplicationContext> beans) {
        return Arguments.argumentSet(name, beans);
    }

    @ParameterizedTest
    @MethodSource("unreachable")
    void whatIsNotLockedDoesNotStart(Consumer<AnnotationConfigApplicationContext> beans) {
        try (var context = context(LockedConfiguration.class)) {
            beans.accept(context);
            assertThatThrownBy(context::refresh)
                    .hasStackTraceContaining("@Locked")
                    .hasStackTraceContaining("would run without");
        }
    }

    @ParameterizedTest
    @MethodSource("unreachable")
    void whatIsScheduledWithoutItsLockDoesNotStart(Consumer<AnnotationConfigApplicationContext> beans) {
        try (var context = context(ScheduledLockConfiguration.class)) {
            beans.accept(context);
            assertThatThrownBy(context::refresh)
                    .hasStackTraceContaining("@ScheduledLock")
                    .hasStackTraceContaining("would run without");
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {OwnProxy.class, WithoutInterfaceMethod.class})
    void whatAProxyOfAnInterfaceDoesNotShowDoesNotStart(Class<?> beans) {
        try (var context = context(LockedConfiguration.class)) {
            context.register(beans);
            assertThatThrownBy(context::refresh)
                    .hasStackTraceContaining("@Locked")
                    .hasStackTraceContaining("would run without");
        }
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                Constructed.class,
                Initialized.class,
                Injected.class,
                Ended.class,
                ByInitMethod.class,
                ByDestroyMethod.class
            })
    void whatSpringCallsBeforeThereIsAProxyDoesNotStart(Class<?> bean) {
        for (Class<?> configuration : List.of(LockedConfiguration.class, ScheduledLockConfiguration.class)) {
            try (var context = context(configuration)) {
                context.register(bean);
                assertThatThrownBy(context::refresh)
                        .hasStackTraceContaining("Spring calls it on the bean itself, not through its proxy");
            }
        }
    }

    @Test
    void anAnnotationOnTheClassDoesNotMeanWhatSpringCallsBeforeThereIsAProxy() {
        try (var context = context(LockedConfiguration.class)) {
            context.register(WithLifeCycle.class);
            context.refresh();
            assertThat(isIntercepted(context.getBean(WithLifeCycle.class), LockedInterceptor.class))
                    .isTrue();
        }
    }

    @Test
    void aFinalClassDoesNotStart() {
        try (var context = context(LockedConfiguration.class)) {
            context.register(FinalClass.class);
            assertThatThrownBy(context::refresh).hasStackTraceContaining("final class");
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {LazyProxy.class, FactoryOfProxies.class})
    void whatIsMadeLaterFailsThen(Class<?> beans) {
        try (var context = context(LockedConfiguration.class)) {
            context.register(beans);
            context.refresh();
            assertThatThrownBy(() -> context.getBean(Kennel.Door.class)).hasStackTraceContaining("would run without");
        }
    }

    @Test
    void scopedAndPrototypeBeansAreLocked() {
        try (var context = context(LockedConfiguration.class)) {
            context.register(Scopes.class);
            context.refresh();
            assertThat(isIntercepted(context.getBean("scopedTarget.scoped"), LockedInterceptor.class))
                    .isTrue();
            assertThat(isIntercepted(context.getBean("prototype"), LockedInterceptor.class))
                    .isTrue();
            assertThat(context.getBean("scoped")).isNotNull();
        }
    }

    @Test
    void beansThatNeedEachOtherAreLocked() {
        try (var context = context(LockedConfiguration.class)) {
            context.getDefaultListableBeanFactory().setAllowCircularReferences(true);
            context.register(Hen.class, Egg.class);
            context.refresh();
            assertThat(isIntercepted(context.getBean(Hen.class), LockedInterceptor.class))
                    .isTrue();
            assertThat(context.getBean(Egg.class).hen).isSameAs(context.getBean(Hen.class));
        }
    }

    @Test
    void whatATestPutsInThePlaceOfABeanIsLeftAlone() throws Exception {
        new TestContextManager(WithOverride.class).prepareTestInstance(new WithOverride());
    }

    @ContextConfiguration(classes = {LockedConfiguration.class, Locks.class, Kennel.class})
    static class WithOverride {

        @TestBean
        @Nullable
        Kennel kennel;

        static Kennel kennel() {
            return new Kennel();
        }
    }

    static class Locks {
        @Bean
        @Lazy
        LockService locks() {
            throw new AssertionError("The lock service is made before it is needed");
        }
    }

    static class NeedsKennel implements BeanPostProcessor, Ordered {
        NeedsKennel(Kennel early) {}

        @Override
        public int getOrder() {
            return Ordered.HIGHEST_PRECEDENCE;
        }
    }

    static class Factory implements FactoryBean<Kennel> {
        @Override
        public Kennel getObject() {
            return new Kennel();
        }

        @Override
        public Class<?> getObjectType() {
            return Kennel.class;
        }
    }

    static class Processor extends Kennel implements BeanPostProcessor, PriorityOrdered {
        @Override
        public int getOrder() {
            return HIGHEST_PRECEDENCE;
        }
    }

    static class Infrastructure extends Kennel implements AopInfrastructureBean {}

    private static Kennel.Door ownProxy() {
        ProxyFactory proxies = new ProxyFactory(new Class<?>[] {Kennel.Door.class});
        proxies.setTarget(new Kennel.Gate());
        return (Kennel.Door) proxies.getProxy();
    }

    static class OwnProxy {
        @Bean
        Kennel.Door door() {
            return ownProxy();
        }
    }

    static class LazyProxy {
        @Bean
        @Lazy
        Kennel.Door door() {
            return ownProxy();
        }
    }

    static class FactoryOfProxies implements FactoryBean<Kennel.Door> {
        @Override
        public Kennel.Door getObject() {
            return ownProxy();
        }

        @Override
        public Class<?> getObjectType() {
            return Kennel.Door.class;
        }
    }

    static class ForeignCage extends Kennel.Cage {}

    /** Without Spring Boot's setting, its proxy is one of the interface. */
    static class WithoutInterfaceMethod implements Runnable {
        @Override
        public void run() {}

        @Locked("other")
        public void other() {}
    }

    @Locked("late")
    static class WithLifeCycle implements InitializingBean {
        @PostConstruct
        public void begin() {}

        @Override
        public void afterPropertiesSet() {}

        public void work() {}
    }

    static class Constructed {
        @PostConstruct
        @Locked("early")
        @ScheduledLock(name = "early", every = "1d")
        public void begin() {}
    }

    static class Initialized implements InitializingBean {
        @Override
        @Locked("early")
        @ScheduledLock(name = "early", every = "1d")
        public void afterPropertiesSet() {}
    }

    static class Injected {
        @Autowired
        @Locked("early")
        @ScheduledLock(name = "early", every = "1d")
        public void fill(Environment environment) {}
    }

    static class Ended implements DisposableBean {
        @Override
        @Locked("late")
        @ScheduledLock(name = "late", every = "1d")
        public void destroy() {}
    }

    static class Warehouse {
        @Locked("early")
        @ScheduledLock(name = "early", every = "1d")
        public void open() {}
    }

    static class ByInitMethod {
        @Bean(initMethod = "open")
        Warehouse warehouse() {
            return new Warehouse();
        }
    }

    static class ByDestroyMethod {
        @Bean(destroyMethod = "open")
        Warehouse warehouse() {
            return new Warehouse();
        }
    }

    static final class FinalClass {
        @Locked("final")
        public void work() {}
    }

    static class Scopes {
        @Bean
        @Scope(scopeName = ConfigurableBeanFactory.SCOPE_PROTOTYPE, proxyMode = ScopedProxyMode.TARGET_CLASS)
        Kennel scoped() {
            return new Kennel();
        }

        @Bean
        @Scope(ConfigurableBeanFactory.SCOPE_PROTOTYPE)
        Kennel prototype() {
            return new Kennel();
        }
    }

    static class Hen {
        @Autowired
        @Nullable
        Egg egg;

        @Locked("hen")
        public void lay() {}
    }

    static class Egg {
        @Autowired
        @Nullable
        Hen hen;
    }
}
