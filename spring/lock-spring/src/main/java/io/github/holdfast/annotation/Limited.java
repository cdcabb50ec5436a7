package io.github.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method of a Spring bean under permits of a distributed semaphore: only a limited number of calls run at a time, across all
 * processes.
 *
 * <pre>{@code
 * @Limited(name = "exports", limit = "3")
 * @Transactional(readOnly = true)
 * public Report export(long customer) { ... }
 * }</pre>
 *
 * <p>The rules of {@link Locked} apply, with permits in place of the lock: for transactions, calls from outside the bean, the places of
 * the annotation, asynchronous results, interrupts, and the mistakes that make startup fail. But you cannot repeat this annotation.
 *
 * <p><strong>With {@link Locked}.</strong> A method can have both annotations. The call acquires the permits first, and then the
 * locks. It releases them in the reverse order. So a thread that waits for permits holds no lock of this method. If the locks are
 * not acquired, the permits are released before the fallback method of {@link Locked#fallback} runs.
 *
 * <p><strong>Not re-entrant.</strong> If the method calls itself through the proxy, the inner call needs permits too. If none are
 * left, it waits for its own caller.
 *
 * @see io.github.holdfast.semaphore.Semaphore
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
@Reflective(MethodHints.class)
public @interface Limited {

    /** The same as {@link #name()}. */
    @AliasFor("name")
    String value() default "";

    /**
     * The name of the semaphore, with the properties and expressions of {@link Locked#name}. No lock can have the same name. The
     * default name is the one of {@link Locked#name} with {@code :permits} at its end.
     */
    @AliasFor("value")
    String name() default "";

    /**
     * How many permits the semaphore has: a number, 1 or more, or a property with one, such as <code>${exports.limit:3}</code>. The
     * first call stores this limit in the database. From then on, the stored limit counts, and this one changes nothing. {@link
     * io.github.holdfast.service.SemaphoreAdmin#setPermits} changes the stored limit.
     */
    String limit();

    /** How many permits each call needs, from 1 to the {@link #limit}. It gets all of them together. */
    int permits() default 1;

    /** How long to wait for the permits, as in {@link Locked#waitAtMost}. */
    String waitAtMost() default "";

    /** How long the permits are held at most, as in {@link Locked#lease}. */
    String lease() default "";

    /** Whether transactions under the permits commit only while these are held. */
    Locked.Fence fence() default Locked.Fence.IF_POSSIBLE;

    /** What to do if too few permits are left when the wait time ends. */
    Locked.OnContention onContention() default Locked.OnContention.THROW;

    /** A method to call instead, if too few permits are left when the wait time ends. Its rules are those of {@link Locked#fallback}. */
    String fallback() default "";
}
