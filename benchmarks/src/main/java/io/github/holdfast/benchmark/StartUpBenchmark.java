package io.github.holdfast.benchmark;

import io.github.holdfast.test.process.JavaProcess;
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
 * turn: first each time in a new JVM, then {@value #WARM_STARTS} times in each JVM.
 */
public final class StartUpBenchmark {

    private static final int PAIRS = 10;
    private static final int WARM_PAIRS = 3;

    /** The first half of them warms the JVM up, and is not counted. */
    private static final int WARM_STARTS = 30;

    private static final Duration LONG = Duration.ofMinutes(5);

    /** What the starter brings, as directories of a build or as jars. */
    private static final Pattern STARTER = module("lock-(entity|repository|service|spring-boot-starter)|changelog");

    /** Modules that other benchmarks need, with auto-configurations of their own. */
    private static final Pattern ELSE = module("lock-(quorum|sharding|shedlock|liquibase|console|spring-integration)");

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
        String with = without(ELSE, System.getProperty("java.class.path"));
        String without = without(STARTER, with);
        // Not measured, because the first starts read the jars from the disk.
        start(without, 1);
        start(with, 1);
        compare("new JVM", without, with, PAIRS, 1);
        compare("warm JVM", without, with, WARM_PAIRS, WARM_STARTS);
    }

    private static Pattern module(String names) {
        return Pattern.compile("[/\\\\](" + names + ")([/\\\\]target[/\\\\]classes|-[0-9][^/\\\\]*[.]jar)$");
    }

    private static String without(Pattern module, String classPath) {
        return Arrays.stream(classPath.split(File.pathSeparator))
                .filter(entry -> !module.matcher(entry).find())
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static void compare(String jvm, String without, String with, int pairs, int startsEach)
            throws InterruptedException {
        List<Start> bare = new ArrayList<>();
        List<Start> locking = new ArrayList<>();
        for (int pair = 0; pair < pairs; pair++) {
            boolean isBareFirst = pair % 2 == 0;
            (isBareFirst ? bare : locking).addAll(start(isBareFirst ? without : with, startsEach));
            (isBareFirst ? locking : bare).addAll(start(isBareFirst ? with : without, startsEach));
        }
        print(jvm + " without the starter", bare);
        print(jvm + " with the starter", locking);
        long before = median(bare, Start::millis);
        long more = median(locking, Start::millis) - before;
        System.out.printf(Locale.ROOT, "%s: %d ms more (%.1f %%)%n", jvm, more, 100.0 * more / before);
    }

    /** Returns the second half of the starts. */
    private static List<Start> start(String classPath, int starts) throws InterruptedException {
        try (JavaProcess shop = JavaProcess.of(StartUpShop.class)
                .jvmArgs("-Xmx256m", "-cp", classPath)
                .args(String.valueOf(starts))
                .start()) {
            List<Start> counted = new ArrayList<>();
            for (int start = 0; start < starts; start++) {
                Start next = Start.of(shop.awaitLine(line -> line.startsWith(StartUpShop.READY), LONG));
                if (start >= starts / 2) {
                    counted.add(next);
                }
            }
            return counted;
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
