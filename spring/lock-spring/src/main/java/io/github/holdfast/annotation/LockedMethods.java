package io.github.holdfast.annotation;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.core.MethodClassKey;

/** A cache of the beans' annotated methods. It reads the annotations of each method once. Thread-safe. */
final class LockedMethods {

    private final ConfigurableBeanFactory beans;
    private final Map<MethodClassKey, LockedMethod> read = new ConcurrentHashMap<>();

    LockedMethods(ConfigurableBeanFactory beans) {
        this.beans = beans;
    }

    /**
     * Returns an annotated method with what it requires.
     *
     * @throws IllegalStateException if the annotations are wrong; the message says why and what to do
     */
    LockedMethod get(Method method, Class<?> targetClass) {
        MethodClassKey key = new MethodClassKey(method, targetClass);
        LockedMethod known = read.get(key);
        if (known != null) {
            return known;
        }
        LockedMethod made = LockedMethod.of(method, targetClass, beans);
        read.put(key, made);
        return made;
    }
}
