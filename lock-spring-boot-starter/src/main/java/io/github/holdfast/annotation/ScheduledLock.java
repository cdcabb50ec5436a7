package io.github.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Lets a method of a Spring bean, which all nodes call at the same time, be run by one of them: once in each period, or not before
 * some time has passed since the last run began, and never twice at once. Calls that are not due return at once.
 *
 * <pre><code>
 * &#64;Scheduled(cron = "0 0 2 * * *", zone = "Europe/Vienna")
 * &#64;ScheduledLock(name = "nightly-report", atLeastFor = "10m")
 * void writeReport() { ... }
 * </code></pre>
 *
 * <p>Any call through the bean counts, not only those of the scheduler, but none by the bean itself ({@code this}). The lock is taken
 * before a transaction of the method begins and given back after its commit; the method must not be called inside a transaction. Each
 * run is written down, see {@code LockAdmin.runs}.
 *
 * <p>One of {@link #every} and {@link #atLeastFor} is needed.
 *
 * <p>A call that is not due returns null, an empty {@code Optional}, or nothing. The method must be done when it returns: one that
 * returns a primitive, a {@code Future}, a {@code CompletionStage} or a {@code Publisher}, or that is not intercepted, is refused when
 * the bean is made or the application has started, as is a value that cannot be understood. Methods with the same name take turns.
 *
 * <p>Values may have placeholders ({@code ${report.period}}). Durations are written as in {@code 10m}, {@code PT10M} or a number of
 * milliseconds.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface ScheduledLock {

    /** The name of the task and its lock, as for {@code TaskRequest.of}. */
    String name();

    /**
     * The length of the periods, of which each has one run: see {@code TaskRequest.every}. Periods are counted in UTC by the
     * database's clock, those of a day from midnight: for methods that are called all the time. For those that are called at a time of
     * day, {@link #atLeastFor} is better: two of these can be in one day of UTC when summer time begins. By default there are none.
     */
    String every() default "";

    /**
     * How long the lock is held at the most: see {@code TaskRequest.lease}. By default it is held for as long as the method runs and the
     * process lives and reaches the database.
     */
    String atMostFor() default "";

    /**
     * How long after the beginning of a run the next one begins at the earliest: see {@code TaskRequest.minimumHold}. Longer than the
     * clocks of the nodes differ from each other; {@code 0s} if the method may run whenever nobody else runs it.
     */
    String atLeastFor() default "";

    /** Whether a run that failed or was lost is repeated within its period: see {@code TaskRequest.retryFailed}. */
    boolean retryFailed() default false;
}
