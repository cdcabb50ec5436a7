package io.github.holdfast.annotation;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import java.util.Arrays;
import java.util.Collection;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;

/** Acquires the locks of a method, calls the method, and releases the locks. Thread-safe. */
final class LockedInterceptor implements MethodInterceptor {

    private final LockedMethods methods;
    private final ObjectProvider<LockService> locks;

    LockedInterceptor(LockedMethods methods, ObjectProvider<LockService> locks) {
        this.methods = methods;
        this.locks = locks;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
        Object target = invocation.getThis();
        // Spring has called the advisor with the same class. If the target is a proxy, this is the class of the proxy.
        Class<?> targetClass = target == null ? invocation.getMethod().getDeclaringClass() : target.getClass();
        LockedMethod method = methods.get(invocation.getMethod(), targetClass);
        LockHandles acquired;
        try {
            acquired = acquire(method, method.requests(target, targetClass, invocation.getArguments()));
        } catch (LockNotAcquiredException contention) {
            return method.contention().answer(contention, target, invocation.getArguments());
        }
        return proceed(invocation, acquired);
    }

    private LockHandles acquire(LockedMethod method, Collection<LockRequest> requests) throws InterruptedException {
        try {
            return Objects.requireNonNull(
                    locks.getObject().acquireAll(requests), "The LockService is a mock that acquires nothing");
        } catch (InterruptedException interrupted) {
            if (Arrays.asList(method.method().getExceptionTypes()).contains(InterruptedException.class)) {
                throw interrupted;
            }
            Thread.currentThread().interrupt();
            throw new IllegalStateException(
                    LockedMethod.describe(method.method())
                            + " did not run: the thread was interrupted while it waited for "
                            + requests.stream().map(LockRequest::name).toList(),
                    interrupted);
        }
    }

    private static @Nullable Object proceed(MethodInvocation invocation, LockHandles acquired) throws Throwable {
        try (Release release = new Release(acquired)) {
            Object result = invocation.proceed();
            return result instanceof CompletionStage<?> stage ? release.after(stage) : result;
        }
    }

    /** Releases the locks at the end of a block, or later. */
    private static final class Release implements AutoCloseable {

        private final LockHandles acquired;
        private boolean isLater;

        Release(LockHandles acquired) {
            this.acquired = acquired;
        }

        /** Returns a stage that completes after the release, and fails if the lock was lost although the work succeeded. */
        CompletionStage<?> after(CompletionStage<?> work) {
            acquired.handles().forEach(LockHandle::detach);
            CompletionStage<?> released = work.whenComplete((result, failure) -> acquired.close());
            isLater = true;
            return released;
        }

        @Override
        public void close() {
            if (!isLater) {
                acquired.close();
            }
        }
    }
}
