package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.MethodChecks;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;

/** A method with what its annotations require before it runs. Immutable. */
final class LockedMethod {

    private static final ParameterNameDiscoverer PARAMETER_NAMES = new DefaultParameterNameDiscoverer();

    private final Method method;
    private final List<Requirement> requirements;
    private final BeanFactoryResolver beans;

    private LockedMethod(Method method, List<Requirement> requirements, BeanFactoryResolver beans) {
        this.method = method;
        this.requirements = requirements;
        this.beans = beans;
    }

    /**
     * Reads and checks the annotations of a method.
     *
     * @throws IllegalStateException if an annotation is wrong; the message says why and what to do
     */
    static LockedMethod of(Method method, Class<?> targetClass, ConfigurableBeanFactory beans) {
        Method specific = LockedAnnotations.specific(method, targetClass);
        AnnotationSite site = new AnnotationSite(specific, targetClass, beans, PARAMETER_NAMES);
        Optional<PermitRequirement> permits =
                read(LockedAnnotations.of(Limited.class, method, targetClass), site, PermitRequirement::of);
        Optional<LockRequirement> locks =
                read(LockedAnnotations.of(Locked.class, method, targetClass), site, LockRequirement::of);
        checkNames(specific, permits, locks);
        // The permits come first, so that a thread that waits for them holds no lock.
        List<Requirement> requirements =
                Stream.of(permits, locks).<Requirement>flatMap(Optional::stream).toList();
        return new LockedMethod(specific, requirements, new BeanFactoryResolver(beans));
    }

    private static <A extends Annotation, R> Optional<R> read(
            List<A> annotations, AnnotationSite site, BiFunction<List<A>, AnnotationSite, R> reader) {
        if (annotations.isEmpty()) {
            return Optional.empty();
        }
        String annotation = "@" + annotations.get(0).annotationType().getSimpleName();
        try {
            MethodChecks.check(site.method(), site.targetClass(), annotation);
            return Optional.of(reader.apply(annotations, site));
        } catch (IllegalArgumentException wrong) {
            throw new IllegalStateException(
                    annotation + " cannot be used on " + MethodChecks.describe(site.method()) + ": "
                            + MethodChecks.continued(wrong),
                    wrong);
        }
    }

    private static void checkNames(
            Method method, Optional<PermitRequirement> permits, Optional<LockRequirement> locks) {
        Optional<String> semaphore =
                permits.map(requirement -> requirement.name().template());
        boolean isNameOfLock = locks.stream()
                .flatMap(requirement -> requirement.specs().stream())
                .anyMatch(spec -> semaphore.equals(Optional.of(spec.name().template())));
        if (isNameOfLock) {
            throw new IllegalStateException("@Limited cannot be used on " + MethodChecks.describe(method)
                    + ": its name '"
                    + semaphore.get() + "' is also that of its @Locked, and a name is that of a lock or of a semaphore:"
                    + " choose another");
        }
    }

    /** Returns the method as the bean declares it. */
    Method method() {
        return method;
    }

    /** Returns whether all that the method requires can be held until a stage completes, on whatever thread. */
    boolean canOutlastItsThread() {
        return requirements.stream().allMatch(Requirement::canOutlastItsThread);
    }

    /**
     * Returns what one call is to acquire, in this order.
     *
     * @throws IllegalArgumentException if a name is not valid; the message names the method
     */
    List<Requirement.Acquisition> acquisitions(
            @Nullable Object target, Class<?> targetClass, @Nullable Object[] arguments) {
        NameProperties.Root root = new NameProperties.Root(method, Arrays.asList(arguments), target, targetClass);
        MethodBasedEvaluationContext call = new MethodBasedEvaluationContext(root, method, arguments, PARAMETER_NAMES);
        call.setBeanResolver(beans);
        return requirements.stream()
                .map(requirement -> acquisition(requirement, call))
                .toList();
    }

    private Requirement.Acquisition acquisition(Requirement requirement, MethodBasedEvaluationContext call) {
        try {
            return requirement.of(call);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(
                    "The " + requirement.what() + " of " + MethodChecks.describe(method) + " has no valid name: "
                            + MethodChecks.continued(wrong),
                    wrong);
        }
    }
}
