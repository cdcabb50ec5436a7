package io.github.holdfast.annotation;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.MethodClassKey;

/** The locked methods of the beans, each read once. Thread-safe. */
final class LockedMethods {

    private final ConfigurableBeanFactory beans;
    private final Map<MethodClassKey, LockedMethod> read = new ConcurrentHashMap<>();

    LockedMethods(ConfigurableBeanFactory beans) {
        this.beans = beans;
    }

    /**
     * Returns how a method that has an annotation is locked.
     *
     * @throws IllegalStateException if its annotations are wrong; says why and what to do
     */
    LockedMethod get(Method method, Class<?> targetClass) {
        MethodClassKey key = new MethodClassKey(method, targetClass);
        LockedMethod known = read.get(key);
        if (known != null) {
            return known;
        }
        List<Locked> annotations = LockedAnnotations.of(method, targetClass);
        LockedMethod made =
                LockedMethod.of(LockedAnnotations.specific(method, targetClass), targetClass, annotations, beans);
        read.put(key, made);
        return made;
    }
}
