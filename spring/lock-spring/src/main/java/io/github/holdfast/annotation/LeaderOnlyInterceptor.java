package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.MethodChecks;
import io.github.holdfast.election.LeaderElection;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.MethodClassKey;

/** Skips calls of methods with {@link LeaderOnly} while this node does not lead. Thread-safe. */
final class LeaderOnlyInterceptor implements MethodInterceptor, SmartInitializingSingleton {

    private final ConfigurableListableBeanFactory beans;
    private final ObjectProvider<LeaderElection> elections;
    private final Map<MethodClassKey, Rule> rules = new ConcurrentHashMap<>();
    private final Map<String, LeaderElection> byName = new ConcurrentHashMap<>();

    /**
     * What a method's annotation says.
     *
     * @param election the name of the election
     * @param nothing the result of a skipped call
     */
    private record Rule(Method method, String election, Supplier<@Nullable Object> nothing) {}

    LeaderOnlyInterceptor(ConfigurableListableBeanFactory beans, ObjectProvider<LeaderElection> elections) {
        this.beans = beans;
        this.elections = elections;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
        Object target = invocation.getThis();
        Class<?> targetClass = target == null ? invocation.getMethod().getDeclaringClass() : target.getClass();
        Rule rule = rule(invocation.getMethod(), targetClass);
        return election(rule).isLeader() ? invocation.proceed() : rule.nothing().get();
    }

    /**
     * Reads the annotation of a method.
     *
     * @throws IllegalStateException if it is wrong; the message says why and what to do
     */
    void check(Method method, Class<?> targetClass) {
        Rule unused = rule(method, targetClass);
    }

    private Rule rule(Method method, Class<?> targetClass) {
        return rules.computeIfAbsent(new MethodClassKey(method, targetClass), key -> read(method, targetClass));
    }

    private Rule read(Method method, Class<?> targetClass) {
        Method specific = LockedAnnotations.specific(method, targetClass);
        AnnotationSite site = new AnnotationSite(specific, targetClass, beans, new DefaultParameterNameDiscoverer());
        try {
            LeaderOnly annotation = LockedAnnotations.of(LeaderOnly.class, method, targetClass).stream()
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("it has none"));
            MethodChecks.checkCaller(specific, targetClass);
            return new Rule(specific, site.resolved(annotation.value()), Contention.nothing(specific));
        } catch (IllegalArgumentException wrong) {
            throw new IllegalStateException(
                    "@LeaderOnly cannot be used on " + MethodChecks.describe(specific) + ": "
                            + MethodChecks.continued(wrong),
                    wrong);
        }
    }

    private LeaderElection election(Rule rule) {
        return byName.computeIfAbsent(rule.election(), name -> find(name).orElseThrow(() -> missing(rule)));
    }

    private Optional<LeaderElection> find(String name) {
        return elections.stream()
                .filter(election -> election.name().equals(name))
                .findFirst();
    }

    private static LockAnnotationException missing(Rule rule) {
        return new LockAnnotationException("@LeaderOnly cannot be used on " + MethodChecks.describe(rule.method())
                + ": there is no election '" + rule.election() + "'. Declare a bean of type ElectionRequest with this"
                + " name. With Spring Boot, holdfast.enabled=false removes all elections");
    }

    /** Makes the start-up fail if an election is missing. */
    @Override
    public void afterSingletonsInstantiated() {
        rules.values().forEach(this::election);
    }
}
