package io.github.holdfast.benchmark;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Finds out whether two nodes keep each other out. */
final class Exclusive implements AutoCloseable {

    private static final long LONG_SECONDS = 30;
    private static final long SHORT_MILLIS = 300;

    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "node");
        thread.setDaemon(true);
        return thread;
    });

    /** Checks, in both orders, that one works only after the other. */
    void assertThatTheyExcludeEachOther(UnderLock one, UnderLock other) throws Exception {
        assertThatTheFirstKeepsOut(one, other);
        assertThatTheFirstKeepsOut(other, one);
    }

    private void assertThatTheFirstKeepsOut(UnderLock first, UnderLock second) throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        try (Inside inside = enter(first)) {
            Future<Boolean> ran = threads.submit(() -> second.run(entered::countDown));
            assertThat(entered.await(SHORT_MILLIS, TimeUnit.MILLISECONDS))
                    .as("it works beside the other one")
                    .isFalse();
            inside.leave();
            boolean isRefused = !ran.get(LONG_SECONDS, TimeUnit.SECONDS);
            if (isRefused) {
                assertThat(second.run(entered::countDown))
                        .as("it works afterwards")
                        .isTrue();
            }
        }
        assertThat(entered.getCount()).isZero();
    }

    /** Checks, in both orders, that one works beside the other. */
    void assertThatTheyDoNotSeeEachOther(UnderLock one, UnderLock other) throws Exception {
        assertThatItWorksBeside(one, other);
        assertThatItWorksBeside(other, one);
    }

    private void assertThatItWorksBeside(UnderLock first, UnderLock second) throws Exception {
        try (Inside inside = enter(first)) {
            assertThat(threads.submit(() -> second.run(() -> {})).get(LONG_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            inside.leave();
        }
    }

    /** Returns when the node works under its lock. */
    Inside enter(UnderLock node) throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch left = new CountDownLatch(1);
        Future<Boolean> ran = threads.submit(() -> node.run(() -> {
            entered.countDown();
            awaitUninterruptibly(left);
        }));
        Inside inside = new Inside(left, ran);
        if (!entered.await(LONG_SECONDS, TimeUnit.SECONDS)) {
            inside.close();
        }
        assertThat(entered.getCount()).as("it works").isZero();
        return inside;
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException ends) {
            Thread.currentThread().interrupt();
        }
    }

    /** A node that works under its lock. */
    static final class Inside implements AutoCloseable {

        private final CountDownLatch left;
        private final Future<Boolean> ran;

        private Inside(CountDownLatch left, Future<Boolean> ran) {
            this.left = left;
            this.ran = ran;
        }

        /** Ends the work, and waits until the node has released its lock. */
        void leave() throws Exception {
            left.countDown();
            assertThat(ran.get(LONG_SECONDS, TimeUnit.SECONDS)).isTrue();
        }

        @Override
        public void close() throws Exception {
            leave();
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
