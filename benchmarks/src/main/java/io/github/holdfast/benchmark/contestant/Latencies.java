package io.github.holdfast.benchmark.contestant;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** The latencies of one operation, measured many times. Not thread-safe. */
public final class Latencies {

    /** The beginning of a {@link #line}. */
    public static final String MARK = "waits";

    private long[] nanos = new long[1024];
    private int count;

    /** The operation to measure. */
    public interface Work {
        void run() throws Exception;
    }

    /** Parses a line of {@link #line}. */
    public static Latencies of(String line) {
        Latencies latencies = new Latencies();
        Stream.of(line.split(" ", -1)).skip(1).mapToLong(Long::parseLong).forEach(latencies::add);
        return latencies;
    }

    /** Returns all latencies in one line, for another process. */
    public String line() {
        return LongStream.of(nanos).limit(count).mapToObj(time -> " " + time).collect(Collectors.joining("", MARK, ""));
    }

    public void measure(Work work) throws Exception {
        long start = System.nanoTime();
        work.run();
        add(System.nanoTime() - start);
    }

    public void add(long time) {
        if (count == nanos.length) {
            nanos = Arrays.copyOf(nanos, 2 * count);
        }
        nanos[count++] = time;
    }

    public void addAll(Latencies others) {
        for (int i = 0; i < others.count; i++) {
            add(others.nanos[i]);
        }
    }

    public int count() {
        return count;
    }

    /** Returns how many are at least this long. */
    public long countLongerThan(double millis) {
        return LongStream.of(nanos)
                .limit(count)
                .filter(time -> time >= millis * 1e6)
                .count();
    }

    /** Returns a quantile in milliseconds: this share of the latencies is not longer. */
    public double quantile(double share) {
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
