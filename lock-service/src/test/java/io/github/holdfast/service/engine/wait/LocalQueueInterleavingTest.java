package io.github.holdfast.service.engine.wait;

import static io.github.holdfast.service.engine.hold.Interleavings.STANDSTILL;
import static io.github.holdfast.service.engine.hold.Interleavings.check;
import static io.github.holdfast.service.engine.hold.Interleavings.together;
import static io.github.holdfast.service.engine.hold.Interleavings.tryOut;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.service.engine.hold.Interleavings;
import io.github.holdfast.service.engine.runtime.Deadline;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.kotlinx.lincheck.paramgen.ThreadIdGen;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Threads that come, wait, give up and leave at the same time, in all orders of their steps. */
@Interleavings.Nightly
class LocalQueueInterleavingTest {

    private static final String NAME = "order";
    private static final int THREADS = 3;

    private static Deadline deadline(Duration limit) {
        return Deadline.interruptible(STANDSTILL, limit);
    }

    /** Returns whether the calling thread's turn came. */
    private static boolean takeTurn(LocalQueue queue, Duration limit, AtomicInteger inside)
            throws InterruptedException {
        try (LocalQueue.Place place = queue.enter(NAME)) {
            if (!place.awaitTurn(deadline(limit))) {
                return false;
            }
            check(inside.incrementAndGet() == 1, "two are first at the same time");
            inside.decrementAndGet();
            return true;
        }
    }

    @Test
    void whoIsPatientIsServedAloneAlthoughAnotherOneGivesUp() {
        tryOut(() -> {
            LocalQueue queue = new LocalQueue(STANDSTILL);
            AtomicInteger inside = new AtomicInteger();
            together(
                    () -> takeTurn(queue, Duration.ZERO, inside),
                    () -> check(takeTurn(queue, Duration.ofSeconds(1), inside), "not served"));
            check(queue.size() == 0, "a place has stayed behind");
        });
    }

    @Test
    void whoIsInterruptedLeavesNothingBehindAndTheNextOneIsServed() {
        tryOut(() -> {
            LocalQueue queue = new LocalQueue(STANDSTILL);
            boolean[] isServed = {false};
            Thread interrupted = new Thread(() -> {
                try {
                    boolean unused = takeTurn(queue, Duration.ofSeconds(1), new AtomicInteger());
                } catch (InterruptedException ends) {
                    // It may have been served before.
                }
            });
            interrupted.start();
            together(
                    interrupted::interrupt,
                    () -> isServed[0] = takeTurn(queue, Duration.ofSeconds(1), new AtomicInteger()));
            interrupted.join();
            check(isServed[0] && queue.size() == 0, "the next one was not served, or a place has stayed behind");
        });
    }

    // Who is first, compared with a queue for one thread

    /** What Lincheck makes its scenarios of: each thread has one place, or none. */
    @Param(name = "thread", gen = ThreadIdGen.class)
    @SuppressWarnings("deprecation") // There is no other way to know the thread.
    public static class Places {
        private final LocalQueue queue = new LocalQueue(STANDSTILL);
        private final LocalQueue.@Nullable Place[] places = new LocalQueue.Place[THREADS + 2];

        @Operation
        public void enter(@Param(name = "thread") int thread) {
            if (places[thread] == null) {
                places[thread] = queue.enter(NAME);
            }
        }

        @Operation
        public boolean isFirst(@Param(name = "thread") int thread) {
            LocalQueue.Place place = places[thread];
            return place != null && place.isFirst();
        }

        @Operation
        public void leave(@Param(name = "thread") int thread) {
            if (places[thread] != null) {
                Objects.requireNonNull(places[thread]).close();
                places[thread] = null;
            }
        }

        @Operation
        public boolean isWaitedFor() {
            return queue.isWaitedFor(NAME);
        }
    }

    /** Looks whether somebody is there, and comes afterwards. */
    @Param(name = "thread", gen = ThreadIdGen.class)
    @SuppressWarnings("deprecation") // As above.
    public static class WrongPlaces {
        private final Deque<Integer> line = new ArrayDeque<>();
        private final boolean[] isFirst = new boolean[THREADS + 2];

        @Operation
        public void enter(@Param(name = "thread") int thread) {
            isFirst[thread] = !isWaitedFor();
            synchronized (line) {
                if (!line.contains(thread)) {
                    line.add(thread);
                }
            }
        }

        @Operation
        public boolean isFirst(@Param(name = "thread") int thread) {
            synchronized (line) {
                return isFirst[thread] && line.contains(thread);
            }
        }

        @Operation
        public void leave(@Param(name = "thread") int thread) {
            synchronized (line) {
                line.remove(thread);
                if (!line.isEmpty()) {
                    isFirst[line.peekFirst()] = true;
                }
            }
        }

        @Operation
        public boolean isWaitedFor() {
            synchronized (line) {
                return !line.isEmpty();
            }
        }
    }

    /** The same, as it is to be. */
    public static class OneAfterTheOther {
        private final Deque<Integer> line = new ArrayDeque<>();

        public void enter(int thread) {
            if (!line.contains(thread)) {
                line.add(thread);
            }
        }

        public boolean isFirst(int thread) {
            return Objects.equals(line.peekFirst(), thread);
        }

        public void leave(int thread) {
            line.remove(thread);
        }

        public boolean isWaitedFor() {
            return !line.isEmpty();
        }
    }

    private static ModelCheckingOptions scenarios() {
        return new ModelCheckingOptions()
                .iterations(20)
                .invocationsPerIteration(500)
                .threads(THREADS)
                .actorsBefore(0)
                .actorsPerThread(3)
                .actorsAfter(0)
                .sequentialSpecification(OneAfterTheOther.class);
    }

    @Test
    void whoCameFirstIsFirst() {
        scenarios().check(Places.class);
    }

    @Test
    void twoThatAreFirstAtTheSameTimeAreFound() {
        assertThatExceptionOfType(LincheckAssertionError.class)
                .isThrownBy(() -> scenarios().check(WrongPlaces.class));
    }
}
