package io.github.holdfast.annotation;

import java.lang.reflect.Method;
import java.util.function.BiFunction;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.ParameterNameDiscoverer;

/**
 * Where an annotation applies.
 *
 * @param method the most specific one
 * @param targetClass the class of the bean
 * @param beans knows the properties that the annotation's attributes may contain
 */
record AnnotationSite(
        Method method, Class<?> targetClass, ConfigurableBeanFactory beans, ParameterNameDiscoverer parameterNames) {

    /**
     * Returns the name that an annotation gives.
     *
     * @param attribute the annotation's name; empty if it has none
     * @param defaultName the name for a method and the class of its bean, if the annotation gives none
     * @throws IllegalArgumentException if the name is wrong; the message says why and what to do
     */
    LockName name(String attribute, BiFunction<Method, Class<?>, String> defaultName) {
        return attribute.isEmpty()
                ? LockName.fixed(defaultName.apply(method, targetClass))
                : LockName.parsed(resolved(attribute), method, parameterNames);
    }

    /**
     * Replaces properties by their values.
     *
     * @throws IllegalArgumentException if one is not set
     */
    String resolved(String attribute) {
        // Without Spring Boot, Spring leaves an unknown property unchanged.
        String resolved = beans.resolveEmbeddedValue(attribute);
        if (resolved == null || resolved.contains("${")) {
            throw new IllegalArgumentException("'" + attribute + "' names a property that is not set");
        }
        return resolved;
    }
}
