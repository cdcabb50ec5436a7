package io.github.holdfast.annotation;

import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.aopalliance.aop.Advice;
import org.springframework.aop.Advisor;
import org.springframework.aop.aspectj.AbstractAspectJAdvice;

/**
 * Which other advice on a method is outside of its {@link Locked}, {@link Limited} and {@link ScheduledLock}: it is called before them,
 * and sees their exceptions. A bean of this type replaces {@link #DEFAULT}. With Spring Boot, the property {@code
 * holdfast.advice-outside-locks} does so. Immutable.
 *
 * @param outside the kinds that are outside; the others are inside. {@link Kind#RETRY} has no effect on {@code @ScheduledLock}
 */
public record AdviceOrder(Set<Kind> outside) {

    /** All but the cache: a call that is refused anyway waits for no lock, and each attempt of a retry acquires the lock anew. */
    public static final AdviceOrder DEFAULT = new AdviceOrder(EnumSet.complementOf(EnumSet.of(Kind.CACHE)));

    /**
     * Creates an order.
     *
     * @throws NullPointerException if the set is or contains null
     */
    public AdviceOrder {
        outside = Set.copyOf(outside);
    }

    /** A kind of advice that libraries bring. */
    public enum Kind {
        /** The validation of parameters and results, by Spring's {@code MethodValidationPostProcessor}. */
        VALIDATION("org\\.springframework\\.validation\\..*"),
        /** The method security of Spring Security, such as {@code @PreAuthorize}. */
        SECURITY("org\\.springframework\\.security\\..*"),
        /** Retries, by Spring Retry, Spring 7 or Resilience4j. */
        RETRY("org\\.springframework\\.(retry|resilience\\..*Retry).*|io\\.github\\.resilience4j\\..*\\.retry\\..*"),
        /** The circuit breaker, rate limiter, time limiter and bulkhead of Resilience4j, and the concurrency limit of Spring 7. */
        CIRCUIT_BREAKER("org\\.springframework\\.resilience\\..*|io\\.github\\.resilience4j\\..*"),
        /** Spring's caches. */
        CACHE("org\\.springframework\\.cache\\..*");

        /** Names, because the libraries may be absent. The first kind that matches counts. */
        private final Pattern classes;

        Kind(String classes) {
            this.classes = Pattern.compile(classes);
        }

        /** Returns the kind of an advisor; empty for all others. */
        static Optional<Kind> of(Advisor advisor) {
            return Stream.of(values())
                    .filter(kind -> classes(advisor)
                            .map(Class::getName)
                            .anyMatch(name -> kind.classes.matcher(name).matches()))
                    .findFirst();
        }

        private static Stream<Class<?>> classes(Advisor advisor) {
            Advice advice = advisor.getAdvice();
            return advice instanceof AbstractAspectJAdvice aspect
                    ? Stream.of(aspect.getAspectJAdviceMethod().getDeclaringClass())
                    : Stream.of(advisor.getClass(), advice.getClass());
        }
    }
}
