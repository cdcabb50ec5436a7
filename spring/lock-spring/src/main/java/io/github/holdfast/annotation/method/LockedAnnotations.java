package io.github.holdfast.annotation.method;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
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
        return first(method, targetClass, declared -> ofMethodOrClass(type, declared, targetClass));
    }

    /** Returns the annotations of a method itself, of this type; empty if it has none. Those of classes do not count. */
    public static <A extends Annotation> List<A> ofMethod(Class<A> type, Method method, Class<?> targetClass) {
        return first(method, targetClass, declared -> nearest(type, declared));
    }

    private static <A> List<A> first(Method method, Class<?> targetClass, Function<Method, List<A>> annotations) {
        return declarations(method, targetClass).stream()
                .map(annotations)
                .filter(found -> !found.isEmpty())
                .findFirst()
                .orElse(List.of());
    }

    /**
     * Returns the declarations of a method that may have annotations for it, the most specific one first. The bean's class may inherit
     * the method from a class that does not implement the interface. Then a proxy of the class calls the method of that class.
     */
    private static Set<Method> declarations(Method method, Class<?> targetClass) {
        Method specific = specific(method, targetClass);
        Set<Method> declarations = new LinkedHashSet<>(List.of(specific, method));
        if (!specific.getDeclaringClass().isInterface()) {
            for (Class<?> type : ClassUtils.getAllInterfacesForClass(targetClass)) {
                Method implemented =
                        ClassUtils.getMethodIfAvailable(type, specific.getName(), specific.getParameterTypes());
                if (implemented != null && !type.isAssignableFrom(specific.getDeclaringClass())) {
                    declarations.add(implemented);
                }
            }
        }
        return declarations;
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
