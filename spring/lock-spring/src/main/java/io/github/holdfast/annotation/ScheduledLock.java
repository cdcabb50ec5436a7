package io.github.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;

/**
 * Runs a scheduled method of a Spring bean on one node, although all nodes call it. The method runs once in each period, or at most
 * once in a minimum time, and never twice at once. A call that is not due returns at once. Set at least one of {@link #every} and
 * {@link #atLeastFor}.
 *
 * <pre><code>
 * &#64;Scheduled(cron = "0 0 2 * * *", zone = "Europe/Vienna")
 * &#64;ScheduledLock(name = "nightly-report", atLeastFor = "10m")
 * void writeReport() { ... }
 * </code></pre>
 *
 * <p>The lock applies to every call from outside the bean, not only to those of the scheduler. It does not apply to calls by the
 * bean itself ({@code this}). On a method of an interface, it applies to the implementations, including Spring Data repositories. The
 * lock is acquired before a transaction of the method begins, and released after its commit. Do not call the method inside a
 * transaction. Each run is recorded; see {@code LockAdmin.runs}.
 *
 * <p>A call that is not due returns null, an empty {@code Optional}, or nothing. The method must not return before its work is done.
 * The creation of the bean or startup fails if the method returns a primitive, a {@code Future}, a {@code CompletionStage} or a {@code
 * Publisher}. It also fails if the method is not intercepted, or a value cannot be parsed. Methods with the same lock name share one
 * lock and its runs.
 *
 * <p>Values may contain placeholders ({@code ${report.period}}). Write durations as {@code 10m}, as {@code PT10M}, or as a number
 * of milliseconds.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Reflective(MethodHints.class)
public @interface ScheduledLock {

    /** The name of the task and its lock, as for {@code TaskRequest.of}. */
    String name();

    /**
     * The length of the periods; each period has one run: see {@code TaskRequest.every}. The periods follow the database's clock
     * in UTC, and periods of one day begin at midnight. Use this for methods that are called frequently. For methods that are
     * called at a time of day, prefer {@link #atLeastFor}. When summer time begins, two such calls can fall into the same day of
     * UTC. By default there are no periods.
     */
    String every() default "";

    /**
     * How long the lock is held at most: see {@code TaskRequest.lease}. By default the lock is held while the method runs, as
     * long as the process lives and reaches the database.
     */
    String atMostFor() default "";

    /**
     * The shortest time from the beginning of one run to the beginning of the next: see {@code TaskRequest.minimumHold}. Choose a
     * time longer than the difference between the nodes' clocks. {@code 0s} lets the method run whenever no other node runs it.
     */
    String atLeastFor() default "";

    /** Whether a run that failed or was lost is repeated within its period: see {@code TaskRequest.retryFailed}. */
    boolean retryFailed() default false;
}
