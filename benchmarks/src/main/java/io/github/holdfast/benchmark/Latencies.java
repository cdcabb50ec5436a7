package io.github.holdfast.benchmark;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** How long one thing took, each of many times. Not thread-safe. */
final class Latencies {

    /** How its {@link #line} begins. */
    static final String MARK = "waits";

    private long[] nanos = new long[1024];
    private int count;

    /** What is measured. */
    interface Work {
        void run() throws Exception;
    }

    /** Reads a line that {@link #line} has written. */
    static Latencies of(String line) {
        Latencies latencies = new Latencies();
        Stream.of(line.split(" ", -1)).skip(1).mapToLong(Long::parseLong).forEach(latencies::add);
        return latencies;
    }

    /** All of them in one line, for another process. */
    String line() {
        return LongStream.of(nanos).limit(count).mapToObj(time -> " " + time).collect(Collectors.joining("", MARK, ""));
    }

    void measure(Work work) throws Exception {
        long start = System.nanoTime();
        work.run();
        add(System.nanoTime() - start);
    }

    void add(long time) {
        if (count == nanos.length) {
            nanos = Arrays.copyOf(nanos, 2 * count);
        }
        nanos[count++] = time;
    }

    void addAll(Latencies others) {
        for (int i = 0; i < others.count; i++) {
            add(others.nanos[i]);
        }
    }

    int count() {
        return count;
    }

    /** The time that this share of all times does not exceed, in milliseconds. */
    double quantile(double share) {
        long[] sorted = Arrays.copyOf(nanos, count);
        Arrays.sort(sorted);
        return sorted[Math.max(0, (int) Math.ceil(share * count) - 1)] / 1e6;
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT, "median %7.3f ms   p99 %8.3f ms   (%d times)", quantile(0.5), quantile(0.99), count);
    }
}
