package io.github.holdfast.faults;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.FakeTime;
import io.github.holdfast.test.JavaProcess;
import io.github.holdfast.test.JavaProcessBuilder;
import io.github.holdfast.test.TestDatabase;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The workers of a run, each behind a network of its own. The last one's clock is an hour ahead. */
final class Fleet implements AutoCloseable {

    /** A property: the workers' transactions are not guarded. */
    static final String UNFENCED = "faults.unfenced";

    static final int SIZE = 3;
    static final Duration NODE_LEASE = Duration.ofSeconds(2);

    private static final Duration AHEAD = Duration.ofHours(1);
    private static final Duration START = Duration.ofMinutes(3);
    private static final Pattern ADDRESS = Pattern.compile("//[^:/]+:(\\d+)/");

    private final Database database;
    private final Path directory;
    private final Random seeds;
    private final List<Proxy> proxies = new ArrayList<>();
    private final List<JavaProcess> processes = new ArrayList<>();
    private final List<Integer> numbers = new ArrayList<>();
    private int started;

    Fleet(Database database, Path directory, long seed) throws IOException {
        this.database = database;
        this.directory = directory;
        this.seeds = new Random(seed);
        Matcher address = ADDRESS.matcher(database.url());
        if (!address.find()) {
            throw new IllegalArgumentException("No port in " + database.url());
        }
        for (int i = 0; i < SIZE; i++) {
            proxies.add(new Proxy(Integer.parseInt(address.group(1))));
        }
    }

    void start() throws InterruptedException {
        for (int i = 0; i < SIZE; i++) {
            processes.add(process(i));
            numbers.add(started);
        }
        for (JavaProcess process : processes) {
            String unused = process.awaitLine("ready"::equals, START);
        }
    }

    private JavaProcess process(int index) {
        int number = ++started;
        Duration ahead = index == SIZE - 1 ? AHEAD : Duration.ZERO;
        JavaProcessBuilder builder = JavaProcess.of(Worker.class)
                .jvmArgs("-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .jvmArgs("-D" + UNFENCED + "=" + Boolean.getBoolean(UNFENCED))
                .args(url(index), database.user(), database.password(), String.valueOf(number))
                .args(String.valueOf(seeds.nextLong()), String.valueOf(NODE_LEASE.toMillis()))
                .args(String.valueOf(ahead.toMillis()))
                .args(directory.resolve("worker-" + number + ".txt").toString())
                .args(String.valueOf(wallNanos() - System.nanoTime()));
        return (ahead.isZero() ? builder : builder.env(FakeTime.environment(ahead))).start();
    }

    static long wallNanos() {
        return ChronoUnit.NANOS.between(Instant.EPOCH, Instant.now());
    }

    /** Without prepared statements the network sees which request is a COMMIT. */
    private String url(int index) {
        String url = ADDRESS.matcher(database.url())
                .replaceFirst("//127.0.0.1:" + proxies.get(index).port() + "/");
        String timeouts = database.kind() == TestDatabase.POSTGRESQL
                ? "socketTimeout=2&connectTimeout=2&prepareThreshold=0"
                : "socketTimeout=2000&connectTimeout=2000";
        return url + (url.contains("?") ? "&" : "?") + timeouts;
    }

    Proxy proxy(int index) {
        return proxies.get(index);
    }

    JavaProcess worker(int index) {
        return processes.get(index);
    }

    /** Kills it and starts another one in its place, which is not waited for. */
    void replace(int index, Recorder recorder) {
        long from = recorder.now();
        processes.get(index).kill();
        recorder.killed(numbers.get(index), from);
        processes.set(index, process(index));
        numbers.set(index, started);
    }

    /** Lets all give back what they hold, and go on living. */
    void stop() throws InterruptedException {
        processes.forEach(process -> process.send("stop"));
        for (JavaProcess process : processes) {
            String unused = process.awaitLine("stopped"::equals, START);
        }
    }

    int droppedReplies() {
        return proxies.stream().mapToInt(Proxy::dropped).sum();
    }

    @Override
    public void close() throws IOException {
        processes.forEach(JavaProcess::close);
        for (Proxy proxy : proxies) {
            proxy.close();
        }
    }
}
