package io.github.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;

/**
 * Runs a method of a Spring bean only while this node leads an election, and skips its calls otherwise.
 *
 * <pre>{@code
 * @Bean
 * ElectionRequest reports() {
 *     return ElectionRequest.of("reports");
 * }
 *
 * @LeaderOnly("reports")
 * @Scheduled(fixedDelay = 1, timeUnit = TimeUnit.MINUTES)
 * public void writeReports() { ... }
 * }</pre>
 *
 * <p>The check costs no statement. It comes before the method's transaction and its {@link Locked locks}. A skipped call returns null,
 * an empty {@code Optional}, or a completed stage without a result. So startup fails if the method returns a primitive, or an object
 * that must not be null.
 *
 * <p><strong>The check comes once, before the call.</strong> The leadership can end while the method runs. Another node may then lead
 * and run the method too. The method's transactions are not fenced. Call {@code leadership.guard()} of the {@code LeaderElection} in
 * them, as the last step, so that only a leader commits. If the method must never run twice at a time, use {@link Locked}.
 *
 * <p>Only calls from outside the bean are checked, as for {@link Locked}. Mistakes fail at startup. So does the name of an election
 * that is not a bean.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
@Reflective(MethodHints.class)
public @interface LeaderOnly {

    /** The name of the election. It may contain properties, such as <code>${reports.election}</code>. */
    String value();
}
