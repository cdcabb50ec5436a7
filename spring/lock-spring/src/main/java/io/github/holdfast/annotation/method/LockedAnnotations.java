package io.github.holdfast.annotation.method;

import java.lang.annotation.Annotation;
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

/**
 * Finds the annotations of methods, of one type at a time: on the methods themselves, and on their classes and interfaces.
 */
public final class LockedAnnotations {

    private LockedAnnotations() {}

    /**
     * Returns the annotations of a method, of this type. If it has none, returns those of its declaring class, which may be empty.
     */
    public static <A extends Annotation> List<A> of(Class<A> type, Method method, Class<?> targetClass) {
        Method specific = specific(method, targetClass);
        List<A> ofMethod = nearest(type, specific);
        if (!ofMethod.isEmpty()) {
            return ofMethod;
        }
        List<A> ofClass = ofClass(type, specific, targetClass);
        // The bean's class may inherit the method from a class that does not implement the interface.
        return ofClass.isEmpty() && !specific.equals(method) ? ofMethodOrClass(type, method, targetClass) : ofClass;
    }

    /**
     * Returns the method as the bean declares it. If the bean is itself a proxy of interfaces, this is the interface's method.
     */
    public static Method specific(Method method, Class<?> targetClass) {
        return Proxy.isProxyClass(targetClass) ? method : AopUtils.getMostSpecificMethod(method, targetClass);
    }

    private static <A extends Annotation> List<A> ofMethodOrClass(Class<A> type, Method method, Class<?> targetClass) {
        List<A> ofMethod = nearest(type, method);
        return ofMethod.isEmpty() ? ofClass(type, method, targetClass) : ofMethod;
    }

    private static <A extends Annotation> List<A> ofClass(Class<A> type, Method method, Class<?> targetClass) {
        boolean isForProxies = !Modifier.isStatic(method.getModifiers())
                && !Modifier.isPrivate(method.getModifiers())
                && !ReflectionUtils.isObjectMethod(method)
                && !MethodChecks.isCalledOnTheBeanItself(method, targetClass);
        return isForProxies ? nearest(type, method.getDeclaringClass()) : List.of();
    }

    /**
     * Returns all annotations of the nearest element with at least one. It adds none of overridden methods or superclasses.
     */
    private static <A extends Annotation> List<A> nearest(Class<A> type, AnnotatedElement element) {
        List<MergedAnnotation<A>> found = MergedAnnotations.from(element, SearchStrategy.TYPE_HIERARCHY).stream(type)
                .toList();
        return found.stream()
                .filter(annotation ->
                        annotation.getAggregateIndex() == found.get(0).getAggregateIndex())
                .map(MergedAnnotation::synthesize)
                .toList();
    }
}
