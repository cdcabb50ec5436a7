package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.MethodChecks;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.aopalliance.aop.Advice;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Advisor;
import org.springframework.aop.PointcutAdvisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.target.AbstractBeanFactoryBasedTargetSource;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.SmartInstantiationAwareBeanPostProcessor;
import org.springframework.beans.factory.support.MergedBeanDefinitionPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.core.Ordered;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.util.ClassUtils;

/**
 * Refuses beans with annotated methods that the annotation's interceptor does not intercept. It checks each bean after all other
 * post-processors, so that it sees their proxies. When the application context is complete, it also checks earlier beans, and
 * beans registered as finished objects.
 */
final class InterceptionCheck
        implements SmartInstantiationAwareBeanPostProcessor,
                MergedBeanDefinitionPostProcessor,
                SmartInitializingSingleton,
                Ordered {

    private static final Logger LOG = LoggerFactory.getLogger(InterceptionCheck.class);

    /** Spring's test framework registers this bean when a test replaces beans. */
    private static final String OVERRIDES =
            "org.springframework.test.context.bean.override.internalBeanOverrideRegistry";

    private final ConfigurableListableBeanFactory beans;
    private final AnnotatedMethods annotated;
    private final Class<? extends Advice> interceptor;
    private final BiConsumer<Method, Class<?>> validator;
    private final Set<String> madeBefore;
    private final Set<String> checkedEarly = ConcurrentHashMap.newKeySet();

    /**
     * A check for one annotation.
     *
     * @param interceptor the interceptor that must intercept the methods
     * @param validator throws an {@link IllegalStateException} if an annotation is wrong
     */
    InterceptionCheck(
            ConfigurableListableBeanFactory beans,
            AnnotatedMethods annotated,
            Class<? extends Advice> interceptor,
            BiConsumer<Method, Class<?>> validator) {
        this.beans = beans;
        this.annotated = annotated;
        this.interceptor = interceptor;
        this.validator = validator;
        this.madeBefore = Set.of(beans.getSingletonNames());
    }

    /** Refuses annotated methods that the definition names as callbacks. Spring calls them on the bean itself. */
    @Override
    public void postProcessMergedBeanDefinition(RootBeanDefinition definition, Class<?> type, String name) {
        Set<String> callbacks = callbacks(definition);
        if (!callbacks.isEmpty()) {
            annotatedMethods(type).stream()
                    .filter(method -> method.getParameterCount() == 0
                            && callbacks.contains(method.getName())
                            && annotated.isOnMethod(method))
                    .findFirst()
                    .ifPresent(method -> {
                        throw new LockAnnotationException("Bean '" + name + "': " + annotated.annotation()
                                + " cannot be used on " + MethodChecks.describe(method) + ": "
                                + MethodChecks.CALLED_ON_BEAN);
                    });
        }
    }

    /** Without those that callers use too, and that Spring finds by itself. Ahead-of-time processing makes them explicit. */
    private static Set<String> callbacks(RootBeanDefinition definition) {
        return Stream.of(definition.getInitMethodNames(), definition.getDestroyMethodNames())
                .filter(Objects::nonNull)
                .flatMap(Arrays::stream)
                .filter(name -> !name.equals("close") && !name.equals("shutdown"))
                .collect(Collectors.toSet());
    }

    @Override
    public int getOrder() {
        return LOWEST_PRECEDENCE;
    }

    /** Checks a bean that other beans need during its creation. Its proxy already exists, and only this method sees it. */
    @Override
    public Object getEarlyBeanReference(Object bean, String name) {
        checkedEarly.add(name);
        check(name, bean);
        return bean;
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        if (!checkedEarly.remove(name)) {
            check(name, bean);
        }
        return bean;
    }

    @Override
    public void afterSingletonsInstantiated() {
        for (String name : beans.getSingletonNames()) {
            Object bean = beans.getSingleton(name);
            if (bean != null && !isReplacedByTest(name)) {
                check(name, bean);
                if (bean instanceof FactoryBean<?> factory && madeBefore.contains(name)) {
                    checkProduct(name, factory);
                }
            }
        }
    }

    /** Returns whether a test has replaced the bean. Such a bean needs no locks. */
    private boolean isReplacedByTest(String name) {
        return madeBefore.contains(name) && beans.containsSingleton(OVERRIDES);
    }

    /** Checks the product of a factory bean. The only way to see an existing product is to request it. */
    private void checkProduct(String name, FactoryBean<?> factory) {
        Class<?> type = factory.getObjectType();
        if (factory.isSingleton() && type != null && !annotatedMethods(type).isEmpty()) {
            check(name, beans.getBean(name));
        }
    }

    private void check(String name, Object bean) {
        if (name.endsWith(AutowireCapableBeanFactory.ORIGINAL_INSTANCE_SUFFIX)) {
            return;
        }
        List<Object> layers = layers(bean);
        for (Object layer : layers) {
            for (Method method : annotatedMethods(layer.getClass())) {
                try {
                    validator.accept(method, ClassUtils.getUserClass(layer));
                    check(method, layers);
                } catch (IllegalStateException wrong) {
                    throw new LockAnnotationException("Bean '" + name + "': " + wrong.getMessage(), wrong);
                }
            }
        }
    }

    /**
     * Returns the bean's proxies from the outermost inwards, and then the bean. Empty if the target is a bean itself, because
     * that bean has its own check.
     */
    private static List<Object> layers(Object bean) {
        List<Object> layers = new ArrayList<>();
        Object current = bean;
        while (current != null) {
            if (current instanceof Advised proxy
                    && proxy.getTargetSource() instanceof AbstractBeanFactoryBasedTargetSource) {
                return List.of();
            }
            layers.add(current);
            current = AopProxyUtils.getSingletonTarget(current);
        }
        return layers;
    }

    private Set<Method> annotatedMethods(Class<?> type) {
        try {
            return annotated.of(type);
        } catch (IllegalStateException | LinkageError unknown) {
            // The methods need missing classes. So no code can call them, or create a proxy of the bean.
            LOG.debug("The methods of {} could not be read", type, unknown);
            return Set.of();
        }
    }

    private void check(Method method, List<Object> layers) {
        boolean isProxy = false;
        for (Object layer : layers) {
            if (layer instanceof Advised proxy) {
                for (Advisor advisor : List.of(proxy.getAdvisors())) {
                    if (interceptor.isInstance(advisor.getAdvice())) {
                        isProxy = true;
                        if (intercepts(advisor, method, proxy)) {
                            return;
                        }
                    } else if (!isProxy && advisor.getAdvice() instanceof TransactionAspectSupport) {
                        throw new IllegalStateException("what its " + annotated.annotation()
                                + " methods hold would be acquired inside their transactions, and released before the"
                                + " commit. Use @EnableTransactionManagement for these transactions, or give their advisor an"
                                + " order greater than " + LockedAdvisor.DEFAULT_ORDER);
                    }
                }
            }
        }
        refuse(method, layers, isProxy);
    }

    private boolean intercepts(Advisor advisor, Method method, Advised proxy) {
        Class<?> target = proxy.getTargetClass() == null ? method.getDeclaringClass() : proxy.getTargetClass();
        return advisor instanceof PointcutAdvisor ours
                && calls(method, proxy)
                        .anyMatch(call -> ours.getPointcut().getMethodMatcher().matches(call, target)
                                // It may match because of another annotation that it applies.
                                && annotated.isAnnotated(call, target));
    }

    /** Returns the methods of the proxy through which a caller can reach this method. */
    private static Stream<Method> calls(Method method, Advised proxy) {
        if (!Proxy.isProxyClass(proxy.getClass())) {
            return isOverridable(method, proxy.getClass()) ? Stream.of(method) : Stream.of();
        }
        return Arrays.stream(proxy.getProxiedInterfaces())
                .flatMap(type -> Arrays.stream(type.getMethods()))
                .filter(declared -> declared.equals(method)
                        || LockedAnnotations.specific(declared, method.getDeclaringClass())
                                .equals(method));
    }

    private static boolean isOverridable(Method method, Class<?> proxy) {
        int modifiers = method.getModifiers();
        if (Modifier.isFinal(modifiers) || Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
            return false;
        }
        Class<?> declaring = method.getDeclaringClass();
        return Modifier.isPublic(modifiers)
                || Modifier.isProtected(modifiers)
                || (declaring.getPackageName().equals(proxy.getPackageName())
                        && declaring.getClassLoader() == proxy.getClassLoader());
    }

    private static boolean isCalledThroughInterface(Method method, List<Object> layers) {
        return layers.stream()
                .anyMatch(layer -> layer instanceof Advised proxy
                        && calls(method, proxy).findAny().isPresent());
    }

    private void refuse(Method method, List<Object> layers, boolean isProxy) {
        String annotation = annotated.annotation();
        Object bean = layers.get(0);
        if (!isProxy) {
            throw new IllegalStateException("its " + annotation + " methods, such as " + MethodChecks.describe(method)
                    + ", would run without " + annotated.protection()
                    + ", because Spring's proxy does not wrap the bean. If a"
                    + " BeanPostProcessor or an advisor needs the bean, Spring created it too early: move the methods"
                    + " to another bean. If it is in a circular reference, break the circle (@Lazy). If it was registered as a finished object, or belongs to Spring's own"
                    + " infrastructure: declare it by a @Bean method or as a @Component. If it is itself a proxy of an"
                    + " interface: annotate the interface");
        }
        String why;
        if (!Proxy.isProxyClass(bean.getClass())) {
            why = Modifier.isFinal(method.getModifiers())
                    ? "it is final, so Spring's proxy cannot intercept its calls: make it overridable"
                    : "it is package-private, and Spring's proxy is in another package: make it public or protected";
        } else if (annotated.isOnMethod(method) || isCalledThroughInterface(method, layers)) {
            why = "Spring's proxy has only the bean's interfaces, and none of them declares the method with this"
                    + " annotation: declare it in one, or use a proxy of the class (proxyTargetClass = true)";
        } else {
            return;
        }
        throw new IllegalStateException(annotation + " cannot be used on " + MethodChecks.describe(method)
                + ", which would run without " + annotated.protection() + ": " + why);
    }
}
