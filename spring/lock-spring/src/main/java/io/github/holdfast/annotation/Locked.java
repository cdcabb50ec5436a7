package io.github.holdfast.annotation;

import io.github.holdfast.lock.LockMode;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;
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
 * <p>The caller's thread acquires the lock before the method's transaction begins, and releases it after that transaction has
 * ended. The order of the annotations does not matter. If the caller already has an active transaction, the lock stays held until
 * that transaction has ended. The caller gets the method's exceptions unchanged. It gets a {@link
 * io.github.holdfast.lock.LockLostException} if the method succeeded, but the lock was lost before the end of the method and
 * no transaction has committed under it.
 *
 * <p><strong>Only calls from outside the bean are locked:</strong> they go through Spring's proxy. A call of {@code this.ship(order)}
 * does not. Move the method to another bean, or use {@link io.github.holdfast.service.LockService}. For the same reason, startup fails
 * if an annotated method is private or static. It also fails for a final method, unless the proxy implements an interface, and for a
 * method that Spring calls before the proxy exists ({@code @PostConstruct}). Finally, it fails if an annotated method of a bean is not
 * intercepted. Such a bean was created before Spring's proxies, or was registered as a finished object, or is itself a proxy that hides
 * the annotation. For a bean that Spring creates later, the creation fails instead.
 *
 * <p><strong>Where to put it.</strong> On a method. On a class: it then applies to all methods of the class and its subclasses
 * that a proxy can intercept, except {@code @PostConstruct} and similar methods. On an interface or its method: it then applies
 * to the implementations, including Spring Data repositories. On another annotation, whose attributes can replace those of this
 * one by {@link AliasFor}. On a class or an interface, it does not apply to inherited methods, such as {@code save} of a
 * repository. An annotation on a method replaces the one on the class, and the one on an overridden method.
 *
 * <p><strong>Several locks.</strong> If you repeat the annotation, the method runs only under all of the locks. The call acquires
 * them together, as {@link io.github.holdfast.service.LockService#acquireAll} does, within the shortest of the wait times. If two
 * names evaluate to the same text, they mean one lock, and the first annotation decides how it is held.
 *
 * <p><strong>With {@link Limited}.</strong> A method with both annotations acquires the permits first. If it gets no lock, it
 * releases them at once.
 *
 * <p><strong>Asynchronous results.</strong> The method may return a {@link java.util.concurrent.CompletionStage} or {@link
 * java.util.concurrent.CompletableFuture}. The lock is then held until the stage is complete. The calling thread waits for the lock.
 * The completing thread releases it before code that waits for the returned stage continues. Such a lock belongs to the stage. So the
 * calling thread cannot re-enter it, and it does not re-enter a lock of the calling thread. Holdfast does not check transactions of
 * other threads before their commit. Other asynchronous results make startup fail: {@link java.util.concurrent.Future}, reactive types,
 * coroutines, and {@code @Async} methods, which return before their work is done. If the declared type of the result hides a stage, as
 * {@code Object} does, the lock is held until it is complete too. But the call fails with an {@link IllegalStateException} if the calling
 * thread held the lock before, if it is a row lock, or if the {@link #fence} is required.
 *
 * <p><strong>Interrupts.</strong> If the thread is interrupted while it waits, it acquires no lock and the method does not run.
 * If the method declares {@link InterruptedException}, the caller gets one. Otherwise the caller gets an {@link
 * IllegalStateException} with that cause, and the thread's interrupt flag is set again.
 *
 * <p>Mistakes fail at startup, with an {@link IllegalStateException} that names the bean, the method and the remedy. {@link
 * LockedConfiguration} enables this annotation; Spring Boot applies it automatically.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
@Repeatable(Locked.List.class)
@Reflective(MethodHints.class)
public @interface Locked {

    /** The same as {@link #name()}. */
    @AliasFor("name")
    String value() default "";

    /**
     * The name of the lock. In this text, <code>${...}</code> is a property, which is replaced at startup. <code>{...}</code> is an
     * expression in SpEL, which is evaluated at each call. An expression can use parameters by name ({@code #order}, if the class was
     * compiled with {@code -parameters}) or by position ({@code #p0}). It can also use {@code #root.method}, {@code #root.args}, {@code
     * #root.target}, {@code #root.targetClass}, and beans ({@code @tenants.current()}).
     *
     * <p>Some values of expressions cause an {@link IllegalArgumentException}: null, an empty value, a collection, map, {@code
     * Optional} or {@link java.util.Date}, and a value whose class does not override {@code toString()}, or a proxy of one. So does a
     * name that {@link io.github.holdfast.lock.LockRequest#of} refuses.
     *
     * <p>The default name consists of the bean's class, the method and the parameter types, so overloads have separate locks. It
     * is shortened if it is longer than 255 characters. Renaming the class, the method or a type changes the default name. Set a
     * name if old and new versions of your application run side by side.
     */
    @AliasFor("value")
    String name() default "";

    /**
     * How long to wait for the lock, in Spring's syntax: {@code 500ms}, {@code 1m30s}, {@code PT2S}, or a property; {@code 0s}
     * means a single attempt. The default is {@link io.github.holdfast.lock.LockRequest#DEFAULT_WAIT}.
     */
    String waitAtMost() default "";

    /**
     * How long the lock is held at most, in the syntax of {@link #waitAtMost}. By default the lock is held while the method runs,
     * as long as the process lives and reaches the database.
     *
     * @see io.github.holdfast.lock.LockRequest#lease
     */
    String lease() default "";

    /**
     * Whether the method holds the lock exclusively, or shares it with other shared holders. You cannot combine a shared lock with a
     * {@link #rowLock} or {@link #fair}.
     *
     * @see io.github.holdfast.lock.LockRequest#shared
     */
    LockMode mode() default LockMode.EXCLUSIVE;

    /**
     * Holds the lock by locking its row. If the caller has an active transaction, the row is locked in that transaction.
     * Otherwise the lock has a separate transaction, which is not the method's and uses another connection. You cannot combine
     * this with a {@link #lease}, or with a method that returns a stage.
     *
     * @see io.github.holdfast.lock.LockRequest#rowLock
     */
    boolean rowLock() default false;

    /**
     * Acquires the lock in the order of arrival, among the fair requests of all processes. You cannot combine this with a {@link
     * #rowLock}.
     *
     * @see io.github.holdfast.lock.LockRequest#fair
     */
    boolean fair() default false;

    /** Whether transactions under the lock commit only while it is held. */
    Fence fence() default Fence.IF_POSSIBLE;

    /** What to do if another owner still holds the lock when the wait time ends. Repeated annotations must have the same value. */
    OnContention onContention() default OnContention.THROW;

    /**
     * A method to call instead, if another owner still holds the lock when the wait time ends. It belongs to the same class and has a
     * compatible result. It has the same parameters, optionally followed by a {@link io.github.holdfast.lock.LockNotAcquiredException}.
     * The call goes to the bean itself, so the fallback's own annotations have no effect. Repeated annotations must have the same
     * value.
     */
    String fallback() default "";

    /** Whether transactions under a lock commit only while it is held. */
    enum Fence {
        /** Yes, for transactions that the lock service's transaction manager begins. */
        IF_POSSIBLE,

        /**
         * Yes, as for {@link io.github.holdfast.lock.LockRequest#requireFence}: the method does not run where transactions
         * cannot be checked.
         */
        REQUIRED,

        /**
         * No, as for {@link io.github.holdfast.lock.LockRequest#withoutFence}: for locks that protect nothing in the
         * database.
         */
        NONE
    }

    /** What to do instead of running the method. */
    enum OnContention {
        /** Throws {@link io.github.holdfast.lock.LockNotAcquiredException}. */
        THROW,

        /**
         * Returns at once: nothing, null, an empty {@code Optional}, or a stage completed with null. Startup fails if the method
         * returns a primitive, or an object that is not marked as nullable. An annotation named {@code Nullable} marks it, or in Kotlin
         * the type.
         */
        SKIP
    }

    /** The container of repeated annotations. */
    @Documented
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.METHOD, ElementType.TYPE})
    @interface List {

        /** The repeated annotations. */
        Locked[] value();
    }
}
