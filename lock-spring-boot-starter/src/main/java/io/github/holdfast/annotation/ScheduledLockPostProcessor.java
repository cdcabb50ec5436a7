package io.github.holdfast.annotation;

import io.github.holdfast.service.LockService;
import java.util.Collection;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.Ordered;
import org.springframework.util.StringValueResolver;

/**
 * Lets calls of methods with {@link ScheduledLock} go through the {@link ScheduledLockInterceptor}, outside all other interceptors of
 * the bean: a transaction begins after the lock was taken, and ends before it is given back.
 */
final class ScheduledLockPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor
        implements SmartInitializingSingleton {

    private static final long serialVersionUID = 1L;

    private transient @Nullable ObjectProvider<LockService> services;
    private transient @Nullable StringValueResolver values;
    private final transient ScheduledLockInterceptor interceptor = new ScheduledLockInterceptor(this::locks);

    ScheduledLockPostProcessor() {
        // Before the processor of @Async, which then comes outside: the lock is held while the method runs.
        setOrder(Ordered.LOWEST_PRECEDENCE - 1);
        setBeforeExistingAdvisors(true);
        // As Spring Boot does: a proxy of the bean's interfaces would not have its other methods.
        setProxyTargetClass(true);
        advisor = new DefaultPointcutAdvisor(
                new AnnotationMatchingPointcut(null, ScheduledLock.class, true), interceptor);
    }

    @Override
    public void setBeanFactory(BeanFactory beanFactory) {
        super.setBeanFactory(beanFactory);
        services = beanFactory.getBeanProvider(LockService.class);
        values = new EmbeddedValueResolver((ConfigurableBeanFactory) beanFactory);
    }

    private LockService locks() {
        return Objects.requireNonNull(services, "services").getObject();
    }

    /** What cannot be followed fails here, with the bean that it is on. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        Class<?> beanClass = AopUtils.getTargetClass(bean);
        StringValueResolver resolver = Objects.requireNonNull(values, "values");
        tasks(beanClass, beanName, resolver).forEach(task -> interceptor.add(beanClass, task));
        return super.postProcessAfterInitialization(bean, beanName);
    }

    private static Collection<ScheduledTask> tasks(Class<?> beanClass, String beanName, StringValueResolver values) {
        MethodIntrospector.MetadataLookup<ScheduledTask> lookup =
                method -> ScheduledTask.of(method, beanName, values).orElse(null);
        return MethodIntrospector.selectMethods(beanClass, lookup).values();
    }

    /** Without a lock service, or with several, the application is not to start. */
    @Override
    public void afterSingletonsInstantiated() {
        if (interceptor.hasTasks()) {
            LockService unused = locks();
        }
    }
}
