package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.MethodChecks;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.util.ClassUtils;

/**
 * Makes the start-up fail if an annotation is wrong or the lock service is missing. It checks the classes of all beans, including
 * those created later. It creates no bean.
 */
final class LockedStartupCheck implements SmartInitializingSingleton {

    private static final Logger LOG = LoggerFactory.getLogger(LockedStartupCheck.class);

    private final ConfigurableListableBeanFactory beans;
    private final LockedMethods methods;
    private final List<AnnotatedMethods> annotations = List.of(AnnotatedMethods.locked(), AnnotatedMethods.limited());

    LockedStartupCheck(ConfigurableListableBeanFactory beans, LockedMethods methods) {
        this.beans = beans;
        this.methods = methods;
    }

    @Override
    public void afterSingletonsInstantiated() {
        Set<String> used = new TreeSet<>();
        for (String name : beans.getBeanNamesForType(Object.class)) {
            Class<?> type = targetClass(name);
            if (type != null) {
                for (AnnotatedMethods annotated : annotations) {
                    Set<Method> found = methods(annotated, type);
                    found.forEach(method -> check(name, method, type, annotated.annotation()));
                    if (!found.isEmpty()) {
                        used.add(annotated.annotation());
                    }
                }
            }
        }
        if (!used.isEmpty()) {
            LockServiceCheck.check(beans, String.join(" and ", used));
        }
    }

    private @Nullable Class<?> targetClass(String name) {
        try {
            return AutoProxyUtils.determineTargetClass(beans, name);
        } catch (RuntimeException | LinkageError unknown) {
            LOG.debug("The class of bean '{}' could not be determined", name, unknown);
            return null;
        }
    }

    private static Set<Method> methods(AnnotatedMethods annotated, Class<?> type) {
        try {
            return annotated.of(type);
        } catch (IllegalStateException | LinkageError unknown) {
            LOG.debug("The methods of {} could not be read", type, unknown);
            return Set.of();
        }
    }

    private void check(String name, Method method, Class<?> type, String annotation) {
        try {
            LockedMethod read = methods.get(method, type);
            if (Modifier.isFinal(read.method().getModifiers()) && !isCalledThroughInterface(name, method, type)) {
                throw new IllegalStateException(annotation + " cannot be used on " + MethodChecks.describe(method)
                        + ": it is final, so Spring's proxy cannot intercept its calls: make it overridable");
            }
        } catch (IllegalStateException wrong) {
            throw new LockAnnotationException("Bean '" + name + "': " + wrong.getMessage(), wrong);
        }
    }

    private boolean isCalledThroughInterface(String name, Method method, Class<?> type) {
        Object bean = beans.getSingleton(name);
        return (bean == null || bean instanceof FactoryBean)
                ? !ClassUtils.getInterfaceMethodIfPossible(method, type).equals(method)
                : Proxy.isProxyClass(bean.getClass());
    }
}
