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

/** Finds what is written on methods, on their classes and interfaces. */
final class LockedAnnotations {

    private LockedAnnotations() {}

    /** The annotations of a method, or if it has none, of the class that declares it; empty if there are none. */
    static List<Locked> of(Method method, Class<?> targetClass) {
        Method specific = specific(method, targetClass);
        List<Locked> ofMethod = ofMethod(specific);
        if (!ofMethod.isEmpty()) {
            return ofMethod;
        }
        List<Locked> ofClass = ofClass(specific);
        // The bean's class may have inherited the method from one that does not know the interface.
        return ofClass.isEmpty() && !specific.equals(method) ? ofMethodOrClass(method) : ofClass;
    }

    /** The method as the bean declares it; of a bean that is a proxy of interfaces itself, as the interface does. */
    static Method specific(Method method, Class<?> targetClass) {
        return Proxy.isProxyClass(targetClass) ? method : AopUtils.getMostSpecificMethod(method, targetClass);
    }

    private static List<Locked> ofMethodOrClass(Method method) {
        List<Locked> ofMethod = ofMethod(method);
        return ofMethod.isEmpty() ? ofClass(method) : ofMethod;
    }

    /** The annotations on this method itself, or the next one that it overrides. */
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

    /** One element may have several; those of what it overrides or extends do not add to them. */
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
