package io.github.holdfast.test;

import io.github.holdfast.test.process.Janitor;
import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.process.Ports;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;

/** Runs H2's TCP server in a separate JVM, with databases in files. */
final class H2Process implements ServerProcess {

    private static final Duration LONGEST_START = Duration.ofSeconds(60);
    private static final Pattern RUNNING = Pattern.compile("TCP server running at tcp://.*");

    private final Path directory = Janitor.temporaryDirectory();
    private final int port;
    private JavaProcess process;

    H2Process() {
        port = Ports.free();
        process = started();
    }

    @Override
    public DatabaseServer server() {
        return H2Server.at(port);
    }

    @Override
    public void kill() {
        process.kill();
    }

    @Override
    public void restart() {
        process = started();
    }

    @Override
    public void stop() {
        kill();
    }

    private JavaProcess started() {
        JavaProcess started = JavaProcess.of(org.h2.tools.Server.class)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dh2.bindAddress=127.0.0.1")
                .args("-tcp", "-tcpPort", String.valueOf(port), "-ifNotExists", "-baseDir", directory.toString())
                .start();
        Janitor.endAfterwards(directory, started.pid(), "KILL");
        await(started);
        return started;
    }

    private static void await(JavaProcess started) {
        try {
            started.awaitLine(line -> RUNNING.matcher(line).matches(), LONGEST_START);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("Interrupted", e);
        } catch (AssertionError e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }
}
