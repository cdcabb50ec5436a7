package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.MethodChecks;
import io.github.holdfast.service.LockService;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskOutcome;
import java.lang.reflect.Method;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodClassKey;

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
        Class<?> beanClass = AopUtils.getTargetClass(Objects.requireNonNull(invocation.getThis(), "a bean"));
        Method method = AopUtils.getMostSpecificMethod(invocation.getMethod(), beanClass);
        MethodClassKey key = new MethodClassKey(method, beanClass);
        ScheduledTask task = tasks.get(key);
        if (task == null) {
            return invocation.proceed();
        }
        TaskLock lock = taskLocks.computeIfAbsent(
                task, first -> Requirement.answered(locks.get().task(task.request())));
        AtomicReference<@Nullable Object> result = new AtomicReference<>(skipped(method));
        TaskOutcome outcome = lock.runIfDue(held -> {
            Object returned = proceed(invocation);
            MethodChecks.checkReturned(method, returned);
            result.set(returned);
        });
        LOG.debug("Task '{}': {}", lock.name(), outcome);
        return result.get();
    }

    private static @Nullable Object skipped(Method method) {
        return method.getReturnType() == Optional.class ? Optional.empty() : null;
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
