package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.wait.LocalQueue;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** What an acquisition costs in addition to its statements: the rules of the row, and the queue of the service. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class InProcessBenchmark {

    /** A row. */
    @State(Scope.Thread)
    public static class Row {
        final LockEntity free = new LockEntity("order:4711", 1);
        final LockEntity held = free.granted("owner", null, "holder");
        final Instant now = Instant.EPOCH;
    }

    /** A queue in which no thread waits. */
    @State(Scope.Benchmark)
    public static class Queue {
        final LocalQueue queue = new LocalQueue(Ticker.SYSTEM);
        final Deadline deadline = Deadline.uninterruptible(Ticker.SYSTEM, Duration.ofDays(1));
    }

    /** What a look at a row means. */
    @Benchmark
    public LockAvailability judge(Row row) {
        return row.held.availability("another", null, null, row.now, Duration.ZERO);
    }

    /** The row after a grant and after a release. */
    @Benchmark
    public LockEntity grantAndRelease(Row row) {
        return row.free.granted("owner", null, "holder").released();
    }

    /** A turn of a thread that need not wait. */
    @Benchmark
    public boolean turn(Queue queue) throws InterruptedException {
        try (LocalQueue.Place place = queue.queue.enter("order:4711")) {
            return place.awaitTurn(queue.deadline);
        }
    }
}
