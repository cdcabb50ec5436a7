package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.PresentAnnotations;
import io.github.holdfast.service.LockService;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.MethodMatcher;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.ComposablePointcut;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcher;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.Ordered;
import org.springframework.scheduling.annotation.ScheduledAnnotationBeanPostProcessor;
import org.springframework.util.StringValueResolver;

/**
 * Routes calls of methods with {@link ScheduledLock} through the {@link ScheduledLockInterceptor}, outside all other interceptors
 * of the bean, except those that {@link AdviceSorter} moves. So a transaction begins after the lock is acquired, and ends before the lock
 * is released.
 */
final class ScheduledLockPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
        implements SmartInitializingSingleton, DisposableBean {

    private static final long serialVersionUID = 1L;

    /** The same object in all contexts: then Spring uses the same classes for their proxies. */
    private static final MethodMatcher METHODS = new StaticMethodMatcher() {
        @Override
        public boolean matches(Method method, Class<?> targetClass) {
            return !LockedAnnotations.ofMethod(ScheduledLock.class, method, targetClass)
                    .isEmpty();
        }
    };

    private final transient PresentAnnotations present = new PresentAnnotations(ScheduledLock.class);
    private transient @Nullable ConfigurableListableBeanFactory beans;
    private transient @Nullable UsedLockService used;
    private transient @Nullable StringValueResolver values;
    private final transient ScheduledMethods scheduled = new ScheduledMethods();
    private final transient ScheduledLockInterceptor interceptor = new ScheduledLockInterceptor(this::locks);

    ScheduledLockPostProcessor() {
        // Before the processor of @Async. Then @Async is outside, and the lock is held while the method runs.
        setOrder(Ordered.LOWEST_PRECEDENCE - 1);
        setBeforeExistingAdvisors(true);
        // The same as Spring Boot's default. A proxy of interfaces would lack the bean's other methods.
        setProxyTargetClass(true);
        advisor = new DefaultPointcutAdvisor(new ComposablePointcut(present, METHODS), interceptor);
    }

    @Override
    public void setBeanFactory(BeanFactory beanFactory) {
        super.setBeanFactory(beanFactory);
        ConfigurableListableBeanFactory own = (ConfigurableListableBeanFactory) beanFactory;
        beans = own;
        used = new UsedLockService(own.getBeanProvider(LockService.class));
        values = new EmbeddedValueResolver(own);
    }

    private LockService locks() {
        return Objects.requireNonNull(used, "used").get();
    }

    @Override
    public void destroy() {
        Objects.requireNonNull(used, "used").destroy();
    }

    /** Reads the annotations of a bean. A wrong annotation fails here, and the message names the bean. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        for (Class<?> type : ScheduledLockInterceptor.classes(bean)) {
            Collection<ScheduledTask> tasks = tasks(type, beanName);
            if (!tasks.isEmpty()) {
                tasks.forEach(task -> interceptor.add(type, task));
                break;
            }
        }
        scheduled.add(AopProxyUtils.ultimateTargetClass(bean));
        // If the bean has another name too, it has its proxy already.
        return AdviceSorter.isAdvisedBy(ScheduledLockInterceptor.class, bean)
                ? bean
                : super.postProcessAfterInitialization(bean, beanName);
    }

    private Collection<ScheduledTask> tasks(Class<?> type, String beanName) {
        StringValueResolver resolver = Objects.requireNonNull(values, "values");
        MethodIntrospector.MetadataLookup<ScheduledTask> lookup =
                method -> ScheduledTask.of(method, type, beanName, resolver).orElse(null);
        return present.mayBeIn(type)
                ? MethodIntrospector.selectMethods(type, lookup).values()
                : List.of();
    }

    /** Makes the start-up fail without a lock service, or with several. */
    @Override
    public void afterSingletonsInstantiated() {
        ConfigurableListableBeanFactory own = Objects.requireNonNull(beans, "beans");
        if (interceptor.hasTasks()) {
            LockServiceCheck.check(own, "@ScheduledLock");
            LockService unused = locks();
        }
        report(own, Objects.requireNonNull(values, "values"));
    }

    private void report(ConfigurableListableBeanFactory own, StringValueResolver properties) {
        if (own.getBeanNamesForType(ScheduledAnnotationBeanPostProcessor.class, true, false).length == 0) {
            scheduled.warnThatSchedulingIsOff();
        } else if (BeanFactoryUtils.beanNamesForTypeIncludingAncestors(own, LockService.class, true, false).length > 0
                && !"false"
                        .equalsIgnoreCase(properties.resolveStringValue("${" + ScheduledMethods.REPORT + ":true}"))) {
            scheduled.reportUnlocked();
        }
    }
}
