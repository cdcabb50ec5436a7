package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.LockedAnnotations;
import io.github.holdfast.annotation.method.MethodChecks;
import io.github.holdfast.service.LockService;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskOutcome;
import java.lang.reflect.Method;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodClassKey;
import org.springframework.util.ClassUtils;

/** Runs methods with {@link ScheduledLock} if they are due. Thread-safe. */
final class ScheduledLockInterceptor implements MethodInterceptor {

    private static final Logger LOG = LoggerFactory.getLogger(ScheduledLock.class);

    private final Supplier<LockService> locks;
    private final Map<MethodClassKey, ScheduledTask> tasks = new ConcurrentHashMap<>();
    private final Map<String, MethodClassKey> names = new ConcurrentHashMap<>();
    private final Map<ScheduledTask, TaskLock> taskLocks = new ConcurrentHashMap<>();

    /**
     * Creates an interceptor without any methods yet.
     *
     * @param locks supplies the service; called when the first task runs, so that the application's beans can exist before the
     *     database is needed
     */
    ScheduledLockInterceptor(Supplier<LockService> locks) {
        this.locks = locks;
    }

    /**
     * Adds a method of a bean's class.
     *
     * @throws LockAnnotationException if another one has the same name: a run of one would keep the other from running
     */
    void add(Class<?> beanClass, ScheduledTask task) {
        MethodClassKey key = new MethodClassKey(task.method(), beanClass);
        MethodClassKey other = names.putIfAbsent(task.request().name(), key);
        if (other != null && !other.equals(key)) {
            throw new LockAnnotationException(
                    ("@ScheduledLock on %s of %s: %s has the name '%s' too, so each would skip"
                                    + " runs of the other. Give each task a name of its own")
                            .formatted(
                                    task.method().toGenericString(),
                                    beanClass.getName(),
                                    other,
                                    task.request().name()));
        }
        ScheduledTask before = tasks.put(key, task);
        // A bean that is created again, as in the refresh scope, may have other values.
        if (before != null) {
            taskLocks.remove(before);
            if (!before.request().name().equals(task.request().name())) {
                names.remove(before.request().name(), key);
            }
        }
    }

    boolean hasTasks() {
        return !tasks.isEmpty();
    }

    @Override
    public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
        if (isRunInside(invocation)) {
            return invocation.proceed();
        }
        ScheduledTask task = task(invocation);
        TaskLock lock = taskLocks.computeIfAbsent(
                task, first -> Requirement.answered(locks.get().task(task.request())));
        AtomicReference<@Nullable Object> result =
                new AtomicReference<>(Contention.EMPTY.get(task.method().getReturnType()));
        TaskOutcome outcome = lock.runIfDue(held -> {
            Object returned = proceed(invocation);
            MethodChecks.checkReturned(task.method(), returned);
            result.set(returned);
        });
        LOG.debug("Task '{}': {}", lock.name(), outcome);
        return result.get();
    }

    /** Returns whether a proxy inside of this one runs the task. If both did, the inner one would find the lock held, and do nothing. */
    private static boolean isRunInside(MethodInvocation invocation) {
        for (Object layer = invocation.getThis(); layer != null; layer = AopProxyUtils.getSingletonTarget(layer)) {
            if (AdviceSorter.isAdvisedBy(ScheduledLockInterceptor.class, layer)
                    && !LockedAnnotations.ofMethod(
                                    ScheduledLock.class, invocation.getMethod(), AopUtils.getTargetClass(layer))
                            .isEmpty()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the task of a call.
     *
     * @throws IllegalStateException if the annotation was not read; the method must not run without its lock
     */
    private ScheduledTask task(MethodInvocation invocation) {
        // Spring intercepts only methods with the annotation.
        Method called = invocation.getMethod();
        for (Class<?> type : classes(target(invocation))) {
            ScheduledTask task = tasks.get(new MethodClassKey(LockedAnnotations.specific(called, type), type));
            if (task != null) {
                return task;
            }
        }
        throw new IllegalStateException(MethodChecks.describe(called)
                + " did not run: its @ScheduledLock was not found at startup. Put the annotation on the method of the bean's"
                + " class");
    }

    private static Object target(MethodInvocation invocation) {
        Object target = invocation.getThis();
        // A proxy without a target, such as an HTTP client, is the bean itself.
        return target == null ? ((ProxyMethodInvocation) invocation).getProxy() : target;
    }

    /**
     * Returns the classes that a bean may have its annotations from, the innermost first. Those of its proxies are among them, because
     * the interface of a proxy may have the annotation, and the class behind it may not implement that interface.
     */
    static Set<Class<?>> classes(Object bean) {
        List<Class<?>> classes = new ArrayList<>();
        for (Object layer = bean; layer != null; layer = AopProxyUtils.getSingletonTarget(layer)) {
            classes.add(ClassUtils.getUserClass(layer));
            // That of a target which differs from call to call.
            classes.add(ClassUtils.getUserClass(AopUtils.getTargetClass(layer)));
        }
        Collections.reverse(classes);
        return new LinkedHashSet<>(classes);
    }

    private static @Nullable Object proceed(MethodInvocation invocation) throws Exception {
        try {
            return invocation.proceed();
        } catch (Exception | Error thrown) {
            throw thrown;
        } catch (Throwable thrown) {
            throw new UndeclaredThrowableException(thrown);
        }
    }
}
