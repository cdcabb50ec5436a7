package io.github.holdfast.annotation;

import static java.util.Comparator.comparing;

import io.github.holdfast.annotation.AdviceOrder.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.aopalliance.aop.Advice;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.interceptor.AsyncExecutionInterceptor;
import org.springframework.aop.interceptor.ExposeInvocationInterceptor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.SmartInstantiationAwareBeanPostProcessor;
import org.springframework.beans.factory.support.MergedBeanDefinitionPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;

/**
 * Gives the advice of beans with locks the {@link AdviceOrder}. The orders of advisors cannot do that: those of retries and transactions
 * have the same order by default, and post-processors add validation after all others. Also sees to it that such a bean has its advice
 * only once, if it has two names.
 */
final class AdviceSorter
        implements SmartInstantiationAwareBeanPostProcessor, MergedBeanDefinitionPostProcessor, Ordered {

    private final ObjectProvider<AdviceOrder> orders;

    /** For the configurations of all annotations, so that there is only one. */
    @Configuration(proxyBeanMethods = false)
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static class Beans {

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static AdviceSorter holdfastAdviceSorter(ObjectProvider<AdviceOrder> orders) {
            return new AdviceSorter(orders);
        }
    }

    /** Where an advisor is, or belongs, from the outside. */
    private enum Place {
        ASYNC,
        /** What the aspects behind it need on their thread. */
        ASPECTS,
        BEFORE_TASK,
        TASK,
        BEFORE_LOCK,
        LOCK,
        INSIDE
    }

    private record Placed(Place place, Advisor advisor) {}

    AdviceSorter(ObjectProvider<AdviceOrder> orders) {
        this.orders = orders;
    }

    /** Does nothing. This class implements the interface only to run after the post-processors that add advice. */
    @Override
    public void postProcessMergedBeanDefinition(RootBeanDefinition definition, Class<?> type, String name) {}

    /** Before {@link InterceptionCheck}. */
    @Override
    public int getOrder() {
        return LOWEST_PRECEDENCE - 1;
    }

    /** A bean that other beans need during its creation never reaches the other method with its proxy. */
    @Override
    public Object getEarlyBeanReference(Object bean, String name) {
        return postProcessAfterInitialization(bean, name);
    }

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
        Object once = withoutRepetition(bean);
        for (Object layer = once; layer != null; layer = AopProxyUtils.getSingletonTarget(layer)) {
            if (layer instanceof Advised proxy && !proxy.isFrozen()) {
                sort(proxy);
            }
        }
        return once;
    }

    /**
     * Returns the bean without the proxies whose advice is also that of the proxy inside. If two {@code @Bean} methods return the same
     * object, Spring wraps it for each of them. Then a call would wait for the permits that it holds itself.
     */
    private static Object withoutRepetition(Object bean) {
        Object once = bean;
        while (once instanceof Advised outer
                && (isAdvisedBy(ScheduledLockInterceptor.class, outer) || isAdvisedBy(LockedInterceptor.class, outer))
                && AopProxyUtils.getSingletonTarget(outer) instanceof Advised inner
                && List.of(inner.getAdvisors()).containsAll(List.of(outer.getAdvisors()))) {
            once = inner;
        }
        return once;
    }

    /** Returns whether the bean is a proxy with this interceptor of Holdfast. Proxies inside of it do not count. */
    static boolean isAdvisedBy(Class<? extends Advice> interceptor, Object bean) {
        return bean instanceof Advised proxy && indexOf(interceptor, List.of(proxy.getAdvisors())) >= 0;
    }

    private void sort(Advised proxy) {
        List<Advisor> before = List.of(proxy.getAdvisors());
        int task = indexOf(ScheduledLockInterceptor.class, before);
        int lock = indexOf(LockedInterceptor.class, before);
        if (task >= 0 || lock >= 0) {
            List<Advisor> after = sorted(before, task, lock);
            if (!after.equals(before)) {
                before.forEach(first -> proxy.removeAdvisor(0));
                after.forEach(proxy::addAdvisor);
            }
        }
    }

    private static int indexOf(Class<? extends Advice> interceptor, List<Advisor> advisors) {
        return IntStream.range(0, advisors.size())
                .filter(i -> isOurs(advisors.get(i), interceptor))
                .findFirst()
                .orElse(-1);
    }

    /** Asks no other advisor for its advice: it may be a bean that cannot be created yet. */
    private static boolean isOurs(Advisor advisor, Class<? extends Advice> interceptor) {
        return (advisor instanceof LockedAdvisor || advisor instanceof DefaultPointcutAdvisor)
                && interceptor.isInstance(advisor.getAdvice());
    }

    private List<Advisor> sorted(List<Advisor> advisors, int task, int lock) {
        Set<Kind> outside = orders.getIfAvailable(() -> AdviceOrder.DEFAULT).outside();
        Place outermost = task >= 0 ? Place.BEFORE_TASK : Place.BEFORE_LOCK;
        List<Placed> placed = new ArrayList<>();
        for (int i = 0; i < advisors.size(); i++) {
            Advisor advisor = advisors.get(i);
            Place now = now(i, task, lock);
            Optional<Kind> kind = Kind.of(advisor);
            if (kind.isEmpty()) {
                placed.add(new Placed(placeOfOther(advisor, now, outermost), advisor));
            } else if (!outside.contains(kind.get())) {
                placed.add(new Placed(Place.INSIDE, advisor));
            } else if (kind.get() == Kind.RETRY) {
                // Outside of a task, no further attempt would be due, and the retry would take that for a success.
                placed.add(new Placed(lock >= 0 ? Place.BEFORE_LOCK : Place.INSIDE, advisor));
            } else {
                placed.add(new Placed(outermost, advisor));
                if (kind.get() == Kind.VALIDATION && now == Place.INSIDE) {
                    // It stays inside of the transaction too: a result that is not valid rolls that back.
                    placed.add(new Placed(now, advisor));
                }
            }
        }
        return placed.stream()
                .sorted(comparing(Placed::place))
                .map(Placed::advisor)
                .toList();
    }

    private static Place now(int index, int task, int lock) {
        if (index <= task) {
            return index < task ? Place.BEFORE_TASK : Place.TASK;
        }
        if (index <= lock) {
            return index < lock ? Place.BEFORE_LOCK : Place.LOCK;
        }
        return Place.INSIDE;
    }

    private static Place placeOfOther(Advisor advisor, Place now, Place outermost) {
        Advice advice = advisor.getAdvice();
        if (advice instanceof AsyncExecutionInterceptor) {
            return Place.ASYNC;
        }
        if (advice instanceof ExposeInvocationInterceptor) {
            return Place.ASPECTS;
        }
        return advice instanceof LeaderOnlyInterceptor ? outermost : now;
    }
}
