package io.github.holdfast.annotation;

import io.github.holdfast.lock.LockRequest;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.util.ClassUtils;

/** A method with its locks, and the action if another owner holds a lock. Immutable. */
final class LockedMethod {

    private static final ParameterNameDiscoverer PARAMETER_NAMES = new DefaultParameterNameDiscoverer();

    private final Method method;
    private final List<LockedSpec> specs;
    private final Contention contention;
    private final BeanFactoryResolver beans;

    private LockedMethod(Method method, List<LockedSpec> specs, Contention contention, BeanFactoryResolver beans) {
        this.method = method;
        this.specs = specs;
        this.contention = contention;
        this.beans = beans;
    }

    /** The value of {@code #root} in an expression. */
    record Root(
            Method method,
            List<@Nullable Object> args,
            @Nullable Object target,
            Class<?> targetClass) {}

    /**
     * Reads and checks annotations.
     *
     * @param method the most specific one
     * @throws IllegalStateException if an annotation is wrong; the message says why and what to do
     */
    static LockedMethod of(
            Method method, Class<?> targetClass, List<Locked> annotations, ConfigurableBeanFactory beans) {
        try {
            MethodChecks.check(method, targetClass);
            LockedSpec.Reentry reentry =
                    MethodChecks.returnsStage(method) ? LockedSpec.Reentry.NONE : LockedSpec.Reentry.BY_THREAD;
            List<LockedSpec> specs = annotations.stream()
                    .map(locked -> LockedSpec.of(
                            locked, name(locked, method, targetClass, beans), reentry, text -> resolved(text, beans)))
                    .toList();
            return new LockedMethod(
                    method, specs, Contention.of(annotations, method, targetClass), new BeanFactoryResolver(beans));
        } catch (IllegalArgumentException wrong) {
            throw new IllegalStateException(
                    "@Locked cannot be used on " + describe(method) + ": " + wrong.getMessage(), wrong);
        }
    }

    private static LockName name(Locked locked, Method method, Class<?> targetClass, ConfigurableBeanFactory beans) {
        return locked.name().isEmpty()
                ? LockName.fixed(DefaultName.of(method, targetClass))
                : LockName.parsed(resolved(locked.name(), beans), method, PARAMETER_NAMES);
    }

    /** Replaces properties. Without Spring Boot, Spring leaves an unknown property unchanged. */
    private static String resolved(String text, ConfigurableBeanFactory beans) {
        String resolved = beans.resolveEmbeddedValue(text);
        if (resolved == null || resolved.contains("${")) {
            throw new IllegalArgumentException("'" + text + "' names a property that is not set");
        }
        return resolved;
    }

    static String describe(Method method) {
        return ClassUtils.getQualifiedMethodName(method)
                + Arrays.stream(method.getParameterTypes())
                        .map(Class::getSimpleName)
                        .collect(Collectors.joining(", ", "(", ")"));
    }

    /** Returns the method as the bean declares it. */
    Method method() {
        return method;
    }

    /** Returns the action if another owner holds a lock. */
    Contention contention() {
        return contention;
    }

    /**
     * Returns the requests of one call, one for each name.
     *
     * @throws IllegalArgumentException if a name is not valid; the message names the method
     */
    Collection<LockRequest> requests(@Nullable Object target, Class<?> targetClass, @Nullable Object[] arguments) {
        Root root = new Root(method, Arrays.asList(arguments), target, targetClass);
        MethodBasedEvaluationContext call = new MethodBasedEvaluationContext(root, method, arguments, PARAMETER_NAMES);
        call.setBeanResolver(beans);
        Map<String, LockRequest> requests = new LinkedHashMap<>();
        for (LockedSpec spec : specs) {
            try {
                String name = spec.name().of(call);
                requests.putIfAbsent(name, spec.request(name));
            } catch (IllegalArgumentException wrong) {
                throw new IllegalArgumentException(
                        "The lock of " + describe(method) + " has no name: " + wrong.getMessage(), wrong);
            }
        }
        return requests.values();
    }
}
