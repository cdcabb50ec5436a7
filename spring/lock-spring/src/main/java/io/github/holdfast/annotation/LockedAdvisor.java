package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.PresentAnnotations;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.List;
import org.aopalliance.aop.Advice;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.ClassFilters;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.Ordered;
import org.springframework.transaction.interceptor.BeanFactoryTransactionAttributeSourceAdvisor;

/**
 * Applies the interceptor to the annotated methods. The interceptor is always outside the transaction interceptor, whatever its
 * order, but otherwise as far inside as possible. {@link AdviceSorter} does what orders cannot.
 */
final class LockedAdvisor extends AbstractPointcutAdvisor {

    private static final long serialVersionUID = 1L;

    /** Outside advisors with the default order, such as those of transactions and caches. */
    static final int DEFAULT_ORDER = Ordered.LOWEST_PRECEDENCE - 1000;

    private final transient ConfigurableListableBeanFactory beans;
    private final transient Advice advice;
    private final transient Pointcut pointcut;
    private final Place place;

    /** Where the interceptor comes, from the outside. */
    enum Place {
        OUTSIDE_LOCKS,
        OUTSIDE_TRANSACTIONS
    }

    LockedAdvisor(
            ConfigurableListableBeanFactory beans,
            Advice advice,
            List<Class<? extends Annotation>> annotations,
            Place place) {
        this.beans = beans;
        this.advice = advice;
        this.pointcut = new AnnotatedMethods(annotations);
        this.place = place;
    }

    private static final class AnnotatedMethods extends StaticMethodMatcherPointcut {

        private final List<Class<? extends Annotation>> annotations;

        AnnotatedMethods(List<Class<? extends Annotation>> annotations) {
            this.annotations = annotations;
            setClassFilter(ClassFilters.union(
                    annotations.stream().map(PresentAnnotations::new).toArray(ClassFilter[]::new)));
        }

        @Override
        public boolean matches(Method method, Class<?> targetClass) {
            return annotations.stream()
                    .anyMatch(annotation -> !LockedAnnotations.of(annotation, method, targetClass)
                            .isEmpty());
        }
    }

    @Override
    public Pointcut getPointcut() {
        return pointcut;
    }

    @Override
    public Advice getAdvice() {
        return advice;
    }

    /** Called by Spring when it creates a bean's proxy. By then all advisors exist. */
    @Override
    public int getOrder() {
        int order = DEFAULT_ORDER;
        for (String name : beans.getBeanNamesForType(BeanFactoryTransactionAttributeSourceAdvisor.class, true, false)) {
            if (!beans.isCurrentlyInCreation(name)) {
                order = Math.min(
                        order, outside(beans.getBean(name, BeanFactoryTransactionAttributeSourceAdvisor.class)));
            }
        }
        return place == Place.OUTSIDE_LOCKS && order > Ordered.HIGHEST_PRECEDENCE ? order - 1 : order;
    }

    private static int outside(BeanFactoryTransactionAttributeSourceAdvisor transactions) {
        if (transactions.getOrder() == Ordered.HIGHEST_PRECEDENCE) {
            throw new IllegalStateException(
                    "@Locked and @Limited cannot apply outside transactions, because the transaction advisor has the"
                            + " order Ordered.HIGHEST_PRECEDENCE: give @EnableTransactionManagement a greater one");
        }
        return transactions.getOrder() - 1;
    }
}
