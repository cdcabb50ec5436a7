package io.github.holdfast.annotation;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
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
 * Refuses beans in which a method has an annotation, but is called without the interceptor that heeds it. Looks at each bean when it has
 * been made, after all other post-processors, whose proxies it is to see; and at those that were there before, or were registered as they
 * are, when the application has been made.
 */
final class InterceptionCheck
        implements SmartInstantiationAwareBeanPostProcessor,
                MergedBeanDefinitionPostProcessor,
                SmartInitializingSingleton,
                Ordered {

    private static final Logger LOG = LoggerFactory.getLogger(InterceptionCheck.class);

    /** What Spring's tests register where they put something else in the place of beans. */
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
     * @param interceptor what must be around the methods
     * @param validator throws an {@link IllegalStateException} if what an annotation says is wrong
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

    /** This processor is of a kind that comes after all others; this method has nothing to do with it. */
    @Override
    public void postProcessMergedBeanDefinition(RootBeanDefinition definition, Class<?> type, String name) {}

    @Override
    public int getOrder() {
        return LOWEST_PRECEDENCE;
    }

    /** Of a bean that others need while it is being made: its proxy exists already, and only here it is seen. */
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

    /** Of what tests put in the place of beans, nothing is locked, nor needs to be. */
    private boolean isReplacedByTest(String name) {
        return madeBefore.contains(name) && beans.containsSingleton(OVERRIDES);
    }

    /** What a factory has made before is not seen without asking for it. */
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

    /** The bean's proxies from the outermost, and the bean. Empty if the target is a bean too, which is looked at by itself. */
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
            // Its methods need classes that are not there: nobody can call it, nor make a proxy of it.
            LOG.debug("The methods of {} are not known", type, unknown);
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
                        throw new IllegalStateException("its " + annotated.annotation()
                                + " methods would be locked inside their transactions, and released before the commit. Let its"
                                + " transactions be advised by @EnableTransactionManagement, or give their advisor an order greater"
                                + " than " + LockedAdvisor.DEFAULT_ORDER);
                    }
                }
            }
        }
        refuse(method, layers, isProxy);
    }

    private static boolean intercepts(Advisor advisor, Method method, Advised proxy) {
        Class<?> target = proxy.getTargetClass() == null ? method.getDeclaringClass() : proxy.getTargetClass();
        return advisor instanceof PointcutAdvisor ours
                && calls(method, proxy)
                        .anyMatch(call -> ours.getPointcut().getMethodMatcher().matches(call, target));
    }

    /** As what the proxy is called when this method is meant. */
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

    private void refuse(Method method, List<Object> layers, boolean isProxy) {
        String annotation = annotated.annotation();
        Object bean = layers.get(0);
        if (!isProxy) {
            throw new IllegalStateException("its " + annotation + " methods, such as " + LockedMethod.describe(method)
                    + ", would not be locked, because it is not behind Spring's proxy. Perhaps a BeanPostProcessor or an advisor"
                    + " needs it, so that it was made too early: move them to another bean. Perhaps it was registered as it is,"
                    + " or belongs to the infrastructure of Spring itself: let it be made by a @Bean method or as a @Component. If"
                    + " it is a proxy of an interface itself, put the annotation on that");
        }
        String why;
        if (!Proxy.isProxyClass(bean.getClass())) {
            why = Modifier.isFinal(method.getModifiers())
                    ? "it is final, so that Spring's proxy cannot intercept its calls: make it overridable"
                    : "it is only visible in its package, where Spring's proxy is not: make it public or protected";
        } else if (annotated.isOnMethod(method)) {
            why =
                    "Spring's proxy of the bean has its interfaces only, none of which has the method: declare it in one, or have"
                            + " classes proxied (proxyTargetClass = true)";
        } else {
            return;
        }
        throw new IllegalStateException(annotation + " cannot be used on " + LockedMethod.describe(method)
                + ", which would not be locked: " + why);
    }
}
