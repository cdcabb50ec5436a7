package io.github.holdfast.benchmark;

import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/** Runs {@code InProcessBenchmark} and {@link HandleBenchmark}, and counts what it allocates. */
public final class InProcess {

    private InProcess() {}

    /**
     * Runs it.
     *
     * @param arguments none that count
     * @throws RunnerException if it cannot
     */
    public static void main(String[] arguments) throws RunnerException {
        new Runner(new OptionsBuilder()
                        .include("InProcessBenchmark")
                        .include(HandleBenchmark.class.getSimpleName())
                        .addProfiler(GCProfiler.class)
                        .forks(2)
                        .warmupIterations(3)
                        .warmupTime(TimeValue.seconds(1))
                        .measurementIterations(5)
                        .measurementTime(TimeValue.seconds(1))
                        .build())
                .run();
    }
}
