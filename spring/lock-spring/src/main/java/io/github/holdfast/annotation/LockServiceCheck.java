package io.github.holdfast.annotation;

import io.github.holdfast.service.LockService;
import java.util.List;
import java.util.function.Predicate;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;

/** Makes the start-up fail if annotated methods have no lock service, or several to choose from. */
final class LockServiceCheck {

    private LockServiceCheck() {}

    /**
     * Checks that Spring finds one lock service by its type, without creating it. A parent context counts only if the context itself has
     * none.
     *
     * @param used the annotations that need it, as they appear in source code
     * @throws LockAnnotationException if it is missing, or if there are several and none is primary
     */
    static void check(ConfigurableListableBeanFactory beans, String used) {
        String[] names = beans.getBeanNamesForType(LockService.class, true, false);
        if (names.length > 0) {
            checkChoice(beans, List.of(names), used);
        } else if (beans.getParentBeanFactory() instanceof ConfigurableListableBeanFactory parent) {
            check(parent, used);
        } else {
            throw new LockAnnotationException(
                    "There are " + used + " methods, but no LockService: declare one as a bean, built by"
                            + " LockService.builder(...). With Spring Boot, holdfast.enabled=false removes it: tests of"
                            + " such an application must provide a mock");
        }
    }

    private static void checkChoice(ConfigurableListableBeanFactory beans, List<String> names, String used) {
        List<String> candidates = names.stream()
                .filter(name -> !is(beans, name, LockServiceCheck::isOnlyForQualifiers))
                .toList();
        List<String> first = candidates.stream()
                .filter(name -> !is(beans, name, BeanDefinition::isFallback))
                .toList();
        boolean isAnyPrimary = first.stream().anyMatch(name -> is(beans, name, BeanDefinition::isPrimary));
        if (first.size() > 1 && !isAnyPrimary) {
            throw new LockAnnotationException("There are " + used + " methods, but several LockServices, "
                    + String.join(", ", first) + ": mark the one that they use as @Primary, or the others with"
                    + " @Bean(defaultCandidate = false)");
        }
    }

    private static boolean isOnlyForQualifiers(BeanDefinition definition) {
        return !definition.isAutowireCandidate()
                || (definition instanceof AbstractBeanDefinition bean && !bean.isDefaultCandidate());
    }

    /** Whether the bean has a definition for which this is true. A finished object has none. */
    private static boolean is(ConfigurableListableBeanFactory beans, String name, Predicate<BeanDefinition> condition) {
        return beans.containsBeanDefinition(name) && condition.test(beans.getMergedBeanDefinition(name));
    }
}
