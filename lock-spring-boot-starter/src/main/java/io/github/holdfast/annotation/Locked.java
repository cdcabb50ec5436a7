package io.github.holdfast.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method of a Spring bean under a distributed lock.
 *
 * <pre>{@code
 * @Locked("order:{#order.id}")
 * @Transactional
 * public void ship(Order order) { ... }
 * }</pre>
 *
 * <p>The lock is acquired before the method's transaction begins, in whichever order the annotations are written, and released
 * after that has ended. If a transaction is active already when the method is called, the lock stays held until that
 * has ended. An exception of the method is thrown as it is; if the method succeeded but the lock was lost before its end, {@link
 * io.github.holdfast.service.LockLostException}.
 *
 * <p><strong>Only calls from outside the bean are locked:</strong> they go through Spring's proxy, a call of {@code
 * this.ship(order)} does not. Move the method to a bean of its own, or use {@link io.github.holdfast.service.LockService}.
 * For the same reason private, static and (unless the proxy is an interface's) final methods are refused at start-up, methods that
 * Spring calls before there is a proxy ({@code @PostConstruct}), and each bean of which a method with the annotation is not
 * intercepted: one that was made before Spring made proxies, that was registered as it is, or that is itself a proxy which hides the
 * annotation. A bean that is made later is refused when it is made.
 *
 * <p><strong>Where it may stand.</strong> On a method; on a class, for all methods that it and its subclasses declare and that a
 * proxy can intercept, but not {@code @PostConstruct} and the like; on an interface, or a method of one, for what implements it, a Spring Data repository too; on an
 * annotation, whose attributes may stand in for those of this one by {@link AliasFor}. On a class or an interface it does not mean
 * what that inherits, such as {@code save} of a repository. What stands on the method replaces what stands on the class, and the
 * method's own replaces what it overrides.
 *
 * <p><strong>Several.</strong> Repeated, the method runs under all of the locks, or none: they are acquired together, as by
 * {@link io.github.holdfast.service.LockService#acquireAll}, within the shortest of the wait times, and two whose names turn
 * out to be equal are one, which is held as the first says.
 *
 * <p><strong>Asynchronous results.</strong> If the method returns a {@link java.util.concurrent.CompletionStage} or {@link
 * java.util.concurrent.CompletableFuture}, the lock is held until that is complete, and released by the thread that completes it
 * before whoever waits for the returned stage goes on. It is waited for in the calling thread. Such a lock belongs to the stage:
 * the thread cannot re-enter it, nor does it re-enter one that the thread holds, and transactions that begin
 * elsewhere are not checked before their commit. Other asynchronous results are refused at start-up: {@link
 * java.util.concurrent.Future}, reactive types, coroutines, and {@code @Async} methods, which return before their work is done.
 *
 * <p><strong>Interrupts.</strong> If the thread is interrupted while it waits, nothing is held and the method does not run. If it
 * declares {@link InterruptedException}, that is thrown; otherwise the thread's interrupt flag is set again, and an {@link
 * IllegalStateException} is thrown whose cause it is.
 *
 * <p>Mistakes fail at start-up, by an {@link IllegalStateException} that names bean, method and cure. {@link
 * LockedConfiguration}, which Spring Boot applies by itself, has it heeded.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
@Repeatable(Locked.List.class)
public @interface Locked {

    /** The same as {@link #name()}. */
    @AliasFor("name")
    String value() default "";

    /**
     * What to lock: text, in which <code>${...}</code> is a property, replaced at start-up, and <code>{...}</code> an
     * expression in SpEL, evaluated at each call. An expression knows the parameters by their names ({@code #order}, if the
     * class was compiled with {@code -parameters}) or positions ({@code #p0}), {@code #root.method}, {@code #root.args},
     * {@code #root.target}, {@code #root.targetClass}, and beans ({@code @tenants.current()}). A value that is null, empty,
     * a collection, map, {@code Optional} or {@link java.util.Date}, or has no {@code toString()} of its own is refused by an {@link IllegalArgumentException}, and so is a name that {@link
     * io.github.holdfast.service.LockRequest#of} refuses.
     *
     * <p>Without a name it is the bean's class, the method and the types of its parameters, shortened if that is longer than
     * 255 characters: overloads have locks of their own. Renaming them changes the name; give one where old and new versions
     * run side by side.
     */
    @AliasFor("value")
    String name() default "";

    /**
     * How long to wait for the lock, in Spring's syntax: {@code 500ms}, {@code 1m30s}, {@code PT2S}, or a property; {@code
     * 0s} makes one decision. By default {@link io.github.holdfast.service.LockRequest#DEFAULT_WAIT}.
     */
    String waitAtMost() default "";

    /**
     * How long the lock is held at the most, as for {@link #waitAtMost}. By default as long as the method takes, the process
     * lives and reaches the database.
     *
     * @see io.github.holdfast.service.LockRequest#lease
     */
    String lease() default "";

    /**
     * Holds the lock by having its row locked: in the caller's transaction if one is active, and otherwise in one of
     * the lock's own, not the method's, which takes a connection besides that. Not with a {@link #lease}, nor on a method
     * that returns a stage.
     *
     * @see io.github.holdfast.service.LockRequest#rowLock
     */
    boolean rowLock() default false;

    /** Whether transactions under the lock commit only while it is held. */
    Fence fence() default Fence.IF_POSSIBLE;

    /** What to do when somebody else holds the lock until the wait time is over. Of several locks all must say the same. */
    OnContention onContention() default OnContention.THROW;

    /**
     * A method to call instead, when somebody else holds the lock until the wait time is over: of the same class, with the same
     * parameters or these and a {@link io.github.holdfast.service.LockNotAcquiredException} as the last one, and a result
     * that fits. It is called on the bean itself, so that its own annotations have no effect. Of several locks all must say
     * the same.
     */
    String fallback() default "";

    /** Whether transactions under a lock commit only while it is held. */
    enum Fence {
        /** Those that the lock service's transaction manager begins. */
        IF_POSSIBLE,

        /** As {@link io.github.holdfast.service.LockRequest#requireFence}: the method is not run where they cannot be checked. */
        REQUIRED,

        /** As {@link io.github.holdfast.service.LockRequest#withoutFence}: for locks that protect nothing in the database. */
        NONE
    }

    /** What to do instead of running the method. */
    enum OnContention {
        /** Throws {@link io.github.holdfast.service.LockNotAcquiredException}. */
        THROW,

        /**
         * Returns at once: nothing, an empty {@code Optional}, a stage that is complete with null, or null. Refused at start-up on
         * methods that return a primitive, or an object that is not said to be nullable (by an annotation named {@code Nullable}, or in
         * Kotlin by its type).
         */
        SKIP
    }

    /** Several of them. */
    @Documented
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    @interface List {

        /** All of them. */
        Locked[] value();
    }
}
