package io.github.holdfast.annotation;

import io.github.holdfast.annotation.Requirement.Acquisition;
import io.github.holdfast.annotation.method.MethodChecks;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.service.LockService;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;

/** Acquires what a method requires, calls the method, and releases it. Thread-safe. */
final class LockedInterceptor implements MethodInterceptor {

    private final LockedMethods methods;
    private final Supplier<LockService> locks;

    LockedInterceptor(LockedMethods methods, Supplier<LockService> locks) {
        this.methods = methods;
        this.locks = locks;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
        Object target = invocation.getThis();
        // Spring has called the advisor with the same class. If the target is a proxy, this is the class of the proxy.
        Class<?> targetClass = target == null ? invocation.getMethod().getDeclaringClass() : target.getClass();
        LockedMethod method = methods.get(invocation.getMethod(), targetClass);
        // In the order of acquisition. The release reverses it.
        List<LockHandle> acquired = new ArrayList<>();
        for (Acquisition next : method.acquisitions(target, targetClass, invocation.getArguments())) {
            try {
                acquired.addAll(acquire(next, acquired));
            } catch (LockNotAcquiredException contention) {
                return next.contention().answer(contention, target, invocation.getArguments());
            } catch (InterruptedException interrupted) {
                throw interrupted(method, next, interrupted);
            }
        }
        return proceed(method, invocation, LockHandles.of(acquired));
    }

    /** Acquires the next locks or permits. If that fails, releases those acquired before. */
    private List<LockHandle> acquire(Acquisition next, List<LockHandle> before) throws InterruptedException {
        try {
            return next.acquirer().from(locks.get());
        } catch (InterruptedException | RuntimeException | Error failed) {
            LockHandles.of(before).release();
            throw failed;
        }
    }

    private static Exception interrupted(LockedMethod method, Acquisition waitedFor, InterruptedException interrupted) {
        if (Arrays.asList(method.method().getExceptionTypes()).contains(InterruptedException.class)) {
            return interrupted;
        }
        Thread.currentThread().interrupt();
        return new IllegalStateException(
                MethodChecks.describe(method.method()) + " did not run: the thread was interrupted while it waited for "
                        + waitedFor.names(),
                interrupted);
    }

    private static @Nullable Object proceed(LockedMethod method, MethodInvocation invocation, LockHandles acquired)
            throws Throwable {
        try (Release release = new Release(method.method(), acquired)) {
            Object result = invocation.proceed();
            if (result instanceof CompletionStage<?> stage) {
                checkStage(method, acquired);
                return release.after(stage);
            }
            MethodChecks.checkReturned(method.method(), result);
            return result;
        }
    }

    /** Checks that a stage whose declared type does not show it may keep what was acquired. Other stages are checked at the start-up. */
    private static void checkStage(LockedMethod method, LockHandles acquired) {
        boolean isOfThisCall = acquired.handles().stream().noneMatch(handle -> handle.holdCount() > 1);
        if (!MethodChecks.returnsStage(method.method()) && !(isOfThisCall && method.canOutlastItsThread())) {
            throw new IllegalStateException(MethodChecks.describe(method.method())
                    + " has returned a stage that its declared type does not show. What it holds cannot be held until the"
                    + " stage completes, because the caller holds it too, or it is a row lock, or needs a fence. Declare"
                    + " CompletionStage or CompletableFuture");
        }
    }

    /** Releases everything at the end of a block, or later. */
    private static final class Release implements AutoCloseable {

        private final Method method;
        private final LockHandles acquired;
        private boolean isLater;

        Release(Method method, LockHandles acquired) {
            this.method = method;
            this.acquired = acquired;
        }

        /**
         * Returns a stage that completes after the release. It fails if something was lost although the work succeeded, or if the work's
         * result carries more work.
         */
        CompletionStage<?> after(CompletionStage<?> work) {
            acquired.handles().forEach(LockHandle::detach);
            CompletionStage<?> released = work.whenComplete((result, failure) -> {
                try (acquired) {
                    MethodChecks.checkReturned(method, result);
                }
            });
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
