package io.github.holdfast.service.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The heartbeats of services, and the writes that they settle. This work runs in the thread of the test, in the order of its times by the clock of the test, and
 * only when the test says so.
 */
public final class SteppedBackground {

    private final FakeTicker ticker;
    private final List<Task> tasks = new ArrayList<>();
    private long added;

    SteppedBackground(FakeTicker ticker) {
        this.ticker = ticker;
    }

    /** Lets the time pass, and does all work that becomes due meanwhile, each at its time. */
    public void pass(Duration time) {
        long end = ticker.nanoTime() + time.toNanos();
        for (Task next = firstUntil(end); next != null; next = firstUntil(end)) {
            if (next.dueAt - ticker.nanoTime() > 0) {
                ticker.advance(Duration.ofNanos(next.dueAt - ticker.nanoTime()));
            }
            next.run();
        }
        if (end - ticker.nanoTime() > 0) {
            ticker.advance(Duration.ofNanos(end - ticker.nanoTime()));
        }
    }

    /** Does the work that is due now. */
    public void step() {
        pass(Duration.ZERO);
    }

    private synchronized @Nullable Task firstUntil(long end) {
        Task first = null;
        for (Task task : tasks) {
            if (task.dueAt - end <= 0 && (first == null || task.isBefore(first))) {
                first = task;
            }
        }
        tasks.remove(first);
        return first;
    }

    private synchronized Task add(Scheduler scheduler, Runnable work, long delay, long interval) {
        if (scheduler.isShutdown) {
            throw new RejectedExecutionException("The scheduler is shut down");
        }
        Task task = new Task(scheduler, work, ticker.nanoTime() + delay, interval, ++added);
        tasks.add(task);
        return task;
    }

    ScheduledExecutorService scheduler() {
        return new Scheduler();
    }

    private final class Task extends FutureTask<Void> implements ScheduledFuture<Void> {

        private final Scheduler scheduler;
        private final Runnable work;
        private final long interval;
        private final long number;
        private final long dueAt;

        Task(Scheduler scheduler, Runnable work, long dueAt, long interval, long number) {
            super(work, null);
            this.scheduler = scheduler;
            this.work = work;
            this.dueAt = dueAt;
            this.interval = interval;
            this.number = number;
        }

        boolean isBefore(Task other) {
            return dueAt == other.dueAt ? number < other.number : dueAt - other.dueAt < 0;
        }

        /** Does the work once, and plans the next time. */
        @Override
        public void run() {
            if (interval == 0) {
                super.run();
            } else if (!scheduler.isShutdown && runAndReset()) {
                Task unused = add(scheduler, work, interval, interval);
            }
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(dueAt - ticker.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(getDelay(TimeUnit.NANOSECONDS), other.getDelay(TimeUnit.NANOSECONDS));
        }
    }

    private final class Scheduler extends AbstractExecutorService implements ScheduledExecutorService {

        private volatile boolean isShutdown;

        @Override
        public void execute(Runnable work) {
            Task unused = add(this, work, 0, 0);
        }

        @Override
        public ScheduledFuture<?> schedule(Runnable work, long delay, TimeUnit unit) {
            return add(this, work, unit.toNanos(delay), 0);
        }

        @Override
        public ScheduledFuture<?> scheduleWithFixedDelay(Runnable work, long first, long delay, TimeUnit unit) {
            return add(this, work, unit.toNanos(first), unit.toNanos(delay));
        }

        @Override
        public ScheduledFuture<?> scheduleAtFixedRate(Runnable work, long first, long period, TimeUnit unit) {
            return scheduleWithFixedDelay(work, first, period, unit);
        }

        @Override
        public <V> ScheduledFuture<V> schedule(Callable<V> work, long delay, TimeUnit unit) {
            throw new UnsupportedOperationException("The engine schedules no work with a result");
        }

        @Override
        public void shutdown() {
            isShutdown = true;
        }

        @Override
        public List<Runnable> shutdownNow() {
            isShutdown = true;
            return List.of();
        }

        @Override
        public boolean isShutdown() {
            return isShutdown;
        }

        @Override
        public boolean isTerminated() {
            return isShutdown;
        }

        /** No work is under way: the thread that waits is the only one that could do it. */
        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            return true;
        }
    }
}
