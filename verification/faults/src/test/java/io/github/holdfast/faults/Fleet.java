package io.github.holdfast.faults;

import io.github.holdfast.test.Proxy;
import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.process.JavaProcessBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * The workers of a run, each behind a network of its own. The first one keeps house, the second one has two connections, the last
 * one's wall clock can be set and is an hour ahead at first.
 */
final class Fleet implements AutoCloseable {

    /** A property: the workers' transactions are not guarded. */
    static final String UNFENCED = "faults.unfenced";

    static final int SIZE = 3;
    static final Duration KEPT = Duration.ofMillis(50);
    static final Duration NODE_LEASE = Duration.ofSeconds(2);
    static final Duration LOCK_DELAY = Duration.ofMillis(300);

    private static final Duration START = Duration.ofMinutes(3);

    private final Server server;
    private final Path directory;
    private final Random seeds;
    private final WallClock clock;
    private final List<Proxy> proxies = new ArrayList<>();
    private final List<JavaProcess> processes = new ArrayList<>();
    private final List<Integer> numbers = new ArrayList<>();
    private int started;

    Fleet(Server server, Path directory, long seed) throws IOException {
        this.server = server;
        this.directory = directory;
        this.seeds = new Random(seed);
        this.clock = new WallClock(directory.resolve("clock"), Duration.ofHours(1));
        for (int i = 0; i < SIZE; i++) {
            proxies.add(Proxy.to(server.url()));
        }
    }

    static boolean keepsHouse(int index) {
        return index == 0;
    }

    /** Not all of them do: services that keep what they release meet others. */
    static boolean keepsReleased(int index) {
        return index != 1;
    }

    static int poolSize(int index) {
        return index == 1 ? 2 : 8;
    }

    private static boolean hasWrongClock(int index) {
        return index == SIZE - 1;
    }

    void start() throws InterruptedException {
        for (int i = 0; i < SIZE; i++) {
            processes.add(process(i));
            numbers.add(started);
        }
        await("ready");
    }

    private void await(String answer) throws InterruptedException {
        for (JavaProcess process : processes) {
            String unused = process.awaitLine(answer::equals, START);
        }
    }

    private JavaProcess process(int index) {
        int number = ++started;
        JavaProcessBuilder builder = JavaProcess.of(Worker.class)
                .jvmArgs("-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                // The pool must ask each time: H2's errors do not tell it that a connection is broken.
                .jvmArgs("-Dcom.zaxxer.hikari.aliveBypassWindowMs="
                        + (server.kind().isH2() ? 0 : 500))
                .jvmArgs("-D" + UNFENCED + "=" + Boolean.getBoolean(UNFENCED))
                .args(url(index), server.user(), server.password(), String.valueOf(number))
                .args(String.valueOf(seeds.nextLong()), String.valueOf(index))
                .args(directory.resolve("worker-" + number + ".txt").toString());
        return (hasWrongClock(index) ? builder.env(clock.environment()) : builder).start();
    }

    /** Without prepared statements the network sees which request is a COMMIT. */
    private String url(int index) {
        String url = proxies.get(index).url();
        String more = url.contains("?") ? "&" : "?";
        return switch (server.kind()) {
            case POSTGRESQL -> url + more + "socketTimeout=2&connectTimeout=2&prepareThreshold=0";
            case MARIADB, MYSQL -> url + more + "socketTimeout=2000&connectTimeout=2000";
            case H2_MEMORY, H2_FILE, H2_TCP -> url + ";NETWORK_TIMEOUT=2000";
        };
    }

    Proxy proxy(int index) {
        return proxies.get(index);
    }

    JavaProcess worker(int index) {
        return processes.get(index);
    }

    /** Sets the wall clock of the last worker. */
    void setClock(Duration ahead) {
        clock.set(ahead);
    }

    /** Kills it and starts another one in its place, which is not waited for. */
    void replace(int index, Recorder recorder) throws IOException {
        long from = recorder.now();
        checkAlive(index);
        processes.get(index).kill();
        recorder.killed(numbers.get(index), from);
        startAnother(index);
    }

    /** Has it close its service in the middle of its work, and starts another one in its place, which is not waited for. */
    void shutDown(int index) throws InterruptedException, IOException {
        JavaProcess process = processes.get(index);
        process.send("close");
        String unused = process.awaitLine("closed"::equals, START);
        process.kill();
        startAnother(index);
    }

    private void startAnother(int index) throws IOException {
        keepOutput(index);
        processes.set(index, process(index));
        numbers.set(index, started);
    }

    private void keepOutput(int index) throws IOException {
        Files.write(
                directory.resolve("worker-" + numbers.get(index) + ".log"),
                processes.get(index).lines());
    }

    private void checkAlive(int index) {
        List<String> output = processes.get(index).lines();
        if (output.stream().anyMatch(line -> line.startsWith(Worker.DIED))) {
            throw new AssertionError(String.join("\n", output));
        }
    }

    /** Lets all give back what they hold, and go on living. */
    void stop() throws InterruptedException {
        processes.forEach(process -> process.send("stop"));
        await("stopped");
    }

    /** Lets all look for what they have left. */
    void lookForLeftovers() throws InterruptedException {
        processes.forEach(process -> process.send("look"));
        await("looked");
    }

    int droppedReplies() {
        return proxies.stream().mapToInt(Proxy::dropped).sum();
    }

    @Override
    public void close() throws IOException {
        for (int i = 0; i < processes.size(); i++) {
            processes.get(i).close();
            keepOutput(i);
        }
        for (Proxy proxy : proxies) {
            proxy.close();
        }
    }
}
