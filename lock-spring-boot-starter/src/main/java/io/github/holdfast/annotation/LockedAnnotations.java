package io.github.holdfast.annotation;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.List;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ReflectionUtils;

/** Finds the annotations of methods: on the methods themselves, and on their classes and interfaces. */
final class LockedAnnotations {

    private LockedAnnotations() {}

    /** Returns the annotations of a method. If it has none, returns those of its declaring class, which may be empty. */
    static List<Locked> of(Method method, Class<?> targetClass) {
        Method specific = specific(method, targetClass);
        List<Locked> ofMethod = ofMethod(specific);
        if (!ofMethod.isEmpty()) {
            return ofMethod;
        }
        List<Locked> ofClass = ofClass(specific);
        // The bean's class may inherit the method from a class that does not implement the interface.
        return ofClass.isEmpty() && !specific.equals(method) ? ofMethodOrClass(method) : ofClass;
    }

    /**
     * Returns the method as the bean declares it. If the bean is itself a proxy of interfaces, this is the interface's method.
     */
    static Method specific(Method method, Class<?> targetClass) {
        return Proxy.isProxyClass(targetClass) ? method : AopUtils.getMostSpecificMethod(method, targetClass);
    }

    private static List<Locked> ofMethodOrClass(Method method) {
        List<Locked> ofMethod = ofMethod(method);
        return ofMethod.isEmpty() ? ofClass(method) : ofMethod;
    }

    /** Returns the annotations on this method. If it has none, returns those of the nearest overridden method. */
    static List<Locked> ofMethod(Method method) {
        return nearest(method);
    }

    private static List<Locked> ofClass(Method method) {
        boolean isForProxies = !Modifier.isStatic(method.getModifiers())
                && !Modifier.isPrivate(method.getModifiers())
                && !ReflectionUtils.isObjectMethod(method)
                && !MethodChecks.isCalledOnTheBeanItself(method, method.getDeclaringClass());
        return isForProxies ? nearest(method.getDeclaringClass()) : List.of();
    }

    /**
     * Returns all annotations of the nearest element with at least one. It adds none of overridden methods or superclasses.
     */
    private static List<Locked> nearest(AnnotatedElement element) {
        List<MergedAnnotation<Locked>> found = MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY).stream(
                        Locked.class)
                .toList();
        return found.stream()
                .filter(annotation ->
                        annotation.getAggregateIndex() == found.get(0).getAggregateIndex())
                .map(MergedAnnotation::synthesize)
                .toList();
    }
}
