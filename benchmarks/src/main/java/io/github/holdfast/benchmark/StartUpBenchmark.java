package io.github.holdfast.benchmark;

import io.github.holdfast.test.JavaProcess;
import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Measures what the starter adds to the start of an application. The same application starts with and without the starter in
 * turn, each time in a new JVM.
 */
public final class StartUpBenchmark {

    private static final int PAIRS = 10;
    private static final Duration LONG = Duration.ofMinutes(2);

    /** The modules of Holdfast on the class path, as directories of a build or as jars. */
    private static final Pattern HOLDFAST = Pattern.compile(
            "[/\\\\](lock-(entity|repository|service|spring-boot-starter|changelog)|changelog)[/\\\\-]");

    private record Start(long millis, long cpuMillis, long beans, long statements) {

        static Start of(String line) {
            String[] numbers = line.substring(StartUpShop.READY.length()).split(" ");
            return new Start(
                    Long.parseLong(numbers[0]),
                    Long.parseLong(numbers[1]),
                    Long.parseLong(numbers[2]),
                    Long.parseLong(numbers[3]));
        }
    }

    private StartUpBenchmark() {}

    /**
     * Runs the benchmark.
     *
     * @param arguments ignored
     */
    public static void main(String[] arguments) throws InterruptedException {
        String with = System.getProperty("java.class.path");
        String without = Arrays.stream(with.split(File.pathSeparator))
                .filter(entry -> !HOLDFAST.matcher(entry).find())
                .collect(Collectors.joining(File.pathSeparator));
        // Not measured, because the first starts read the jars from the disk.
        start(without);
        start(with);
        List<Start> bare = new ArrayList<>();
        List<Start> locking = new ArrayList<>();
        for (int pair = 0; pair < PAIRS; pair++) {
            boolean isBareFirst = pair % 2 == 0;
            (isBareFirst ? bare : locking).add(start(isBareFirst ? without : with));
            (isBareFirst ? locking : bare).add(start(isBareFirst ? with : without));
        }
        print("without the starter", bare);
        print("with the starter", locking);
        long before = median(bare, Start::millis);
        long more = median(locking, Start::millis) - before;
        List<Long> differences = new ArrayList<>();
        for (int pair = 0; pair < PAIRS; pair++) {
            differences.add(locking.get(pair).millis() - bare.get(pair).millis());
        }
        System.out.printf(
                Locale.ROOT,
                "%d ms more (%.1f %%); median of the differences in each pair: %d ms%n",
                more,
                100.0 * more / before,
                differences.stream().sorted().skip(PAIRS / 2).findFirst().orElseThrow());
    }

    private static Start start(String classPath) throws InterruptedException {
        try (JavaProcess shop = JavaProcess.of(StartUpShop.class)
                .jvmArgs("-Xmx256m", "-cp", classPath)
                .start()) {
            return Start.of(shop.awaitLine(line -> line.startsWith(StartUpShop.READY), LONG));
        }
    }

    private static void print(String what, List<Start> starts) {
        List<Long> millis = starts.stream().map(Start::millis).sorted().toList();
        System.out.printf(
                Locale.ROOT,
                "%s: ready after %d ms, %d ms of the processors (medians of %d; %d to %d ms), %d beans, %d statements%n",
                what,
                median(starts, Start::millis),
                median(starts, Start::cpuMillis),
                starts.size(),
                millis.get(0),
                millis.get(millis.size() - 1),
                median(starts, Start::beans),
                median(starts, Start::statements));
    }

    private static long median(List<Start> starts, ToLongFunction<Start> number) {
        return starts.stream()
                .mapToLong(number)
                .sorted()
                .skip(starts.size() / 2)
                .findFirst()
                .orElseThrow();
    }
}
