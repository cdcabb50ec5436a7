package io.github.holdfast.annotation;

import io.github.holdfast.service.LockRequest;
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

/** A method, under which locks it runs, and what is done if these are not acquired. Immutable. */
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

    /** What an expression calls {@code #root}. */
    record Root(
            Method method,
            List<@Nullable Object> args,
            @Nullable Object target,
            Class<?> targetClass) {}

    /**
     * Reads and checks annotations.
     *
     * @param method the most specific one
     * @throws IllegalStateException if something is wrong; says why and what to do
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

    /** Without Spring Boot, a property that does not exist is left as it was written. */
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

    /** The method as the bean declares it. */
    Method method() {
        return method;
    }

    /** What is done if the locks are not acquired. */
    Contention contention() {
        return contention;
    }

    /**
     * Returns what one call asks for, each name once.
     *
     * @throws IllegalArgumentException if a name is not one; says of which method
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
