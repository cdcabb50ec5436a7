package io.github.holdfast.annotation;

import io.github.holdfast.service.LockService;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.AnnotatedBeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.util.ClassUtils;

/**
 * Refuses to start an application in which a method would not be locked as its annotation says. Looks at the classes of all
 * beans, and at the proxies of those that exist; it makes none.
 */
final class LockedStartupCheck implements SmartInitializingSingleton {

    private static final Logger LOG = LoggerFactory.getLogger(LockedStartupCheck.class);

    private final ConfigurableListableBeanFactory beans;
    private final LockedMethods methods;

    LockedStartupCheck(ConfigurableListableBeanFactory beans, LockedMethods methods) {
        this.beans = beans;
        this.methods = methods;
    }

    @Override
    public void afterSingletonsInstantiated() {
        boolean areThereAny = false;
        for (String name : beans.getBeanNamesForType(Object.class)) {
            Class<?> type = targetClass(name);
            if (type != null && LockedAdvisor.mayHaveMethods(type)) {
                Set<Method> locked = MethodIntrospector.selectMethods(
                        type,
                        (Method method) -> !LockedAnnotations.of(method, type).isEmpty());
                locked.forEach(method -> check(name, method, type));
                areThereAny |= !locked.isEmpty();
                if (!locked.isEmpty()) {
                    checkProxy(name, type);
                }
            }
        }
        if (areThereAny) {
            checkLockService();
        }
    }

    /** Without making it. */
    private void checkLockService() {
        String[] names = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, LockService.class, true, false);
        if (names.length == 0) {
            throw new IllegalStateException(
                    "There are @Locked methods, but no LockService: declare one as a bean, made by LockService.builder(...)");
        }
        boolean isAnyPrimary = Arrays.stream(names)
                .anyMatch(name -> beans.containsBeanDefinition(name)
                        && beans.getMergedBeanDefinition(name).isPrimary());
        if (names.length > 1 && !isAnyPrimary) {
            throw new IllegalStateException("There are @Locked methods, but several LockServices, "
                    + String.join(", ", names) + ": mark the one that they use as @Primary");
        }
    }

    private @Nullable Class<?> targetClass(String name) {
        try {
            return AutoProxyUtils.determineTargetClass(beans, name);
        } catch (RuntimeException | LinkageError unknown) {
            LOG.debug("The class of bean '{}' is not known", name, unknown);
            return null;
        }
    }

    private void check(String name, Method method, Class<?> type) {
        try {
            LockedMethod read = methods.get(method, type);
            if (Modifier.isFinal(read.method().getModifiers()) && !isCalledThroughInterface(name, method, type)) {
                throw new IllegalStateException("@Locked cannot be used on " + LockedMethod.describe(method)
                        + ": it is final, so that Spring's proxy cannot intercept its calls: make it overridable");
            }
        } catch (IllegalStateException wrong) {
            throw new IllegalStateException("Bean '" + name + "': " + wrong.getMessage(), wrong);
        }
    }

    private boolean isCalledThroughInterface(String name, Method method, Class<?> type) {
        Object bean = beans.getSingleton(name);
        return (bean == null || bean instanceof FactoryBean)
                ? !ClassUtils.getInterfaceMethodIfPossible(method, type).equals(method)
                : Proxy.isProxyClass(bean.getClass());
    }

    /** From the outermost proxy to the bean: the lock must come, and before any transaction. */
    private void checkProxy(String name, Class<?> type) {
        Object bean = beans.getSingleton(name);
        if (bean == null || bean instanceof FactoryBean || bean instanceof AopInfrastructureBean) {
            return;
        }
        Object current = bean;
        while (current instanceof Advised proxy) {
            for (Advisor advisor : List.of(proxy.getAdvisors())) {
                if (advisor instanceof LockedAdvisor) {
                    return;
                }
                if (advisor.getAdvice() instanceof TransactionAspectSupport) {
                    throw new IllegalStateException("Bean '" + name
                            + "': its @Locked methods would be locked inside their transactions, and released before the"
                            + " commit. Let its transactions be advised by @EnableTransactionManagement, or give their"
                            + " advisor an order greater than " + LockedAdvisor.DEFAULT_ORDER);
                }
            }
            current = AopProxyUtils.getSingletonTarget(proxy);
        }
        if (type.isInstance(bean) && isMadeAsDeclared(name)) {
            throw new IllegalStateException(
                    "Bean '" + name
                            + "': its @Locked methods would not be locked, because it is not behind Spring's proxy. Perhaps a"
                            + " BeanPostProcessor or an advisor needs it, so that it was made too early: move them to another bean");
        }
    }

    /** Of what tests put in the place of beans, nothing is locked, nor needs to be. */
    private boolean isMadeAsDeclared(String name) {
        return beans.containsBeanDefinition(name) && beans.getBeanDefinition(name) instanceof AnnotatedBeanDefinition;
    }
}
