package io.github.holdfast.annotation;

import io.github.holdfast.service.LockService;
import java.util.Arrays;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/** Makes the start-up fail if annotated methods have no lock service, or several to choose from. */
final class LockServiceCheck {

    private LockServiceCheck() {}

    /**
     * Checks that one lock service is defined, without creating it.
     *
     * @param used the annotations that need it, as they appear in source code
     * @throws LockAnnotationException if it is missing, or if there are several and none is primary
     */
    static void check(ConfigurableListableBeanFactory beans, String used) {
        String[] names = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, LockService.class, true, false);
        if (names.length == 0) {
            throw new LockAnnotationException(
                    "There are " + used + " methods, but no LockService: declare one as a bean, built by"
                            + " LockService.builder(...). With Spring Boot, holdfast.enabled=false removes it: tests of"
                            + " such an application must provide a mock");
        }
        boolean isAnyPrimary = Arrays.stream(names)
                .anyMatch(name -> beans.containsBeanDefinition(name)
                        && beans.getMergedBeanDefinition(name).isPrimary());
        if (names.length > 1 && !isAnyPrimary) {
            throw new LockAnnotationException("There are " + used + " methods, but several LockServices, "
                    + String.join(", ", names) + ": mark the one that they use as @Primary");
        }
    }
}
