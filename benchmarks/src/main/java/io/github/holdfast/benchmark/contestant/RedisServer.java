package io.github.holdfast.benchmark.contestant;

import io.github.holdfast.test.ServerPrograms;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A Redis server with its default settings, from the package {@code redis-server} of Debian. It ends with this JVM at the latest. */
public final class RedisServer implements AutoCloseable {

    private static final Path PROGRAM = Path.of("/usr/bin/redis-server");
    private static final Pattern VERSION = Pattern.compile("v=(\\S+)");
    private static final Duration START = Duration.ofSeconds(30);

    private final Process process;
    private final int port;

    private RedisServer(Process process, int port) {
        this.process = process;
        this.port = port;
    }

    public static boolean isInstalled() {
        return Files.exists(PROGRAM);
    }

    /**
     * Starts a server on a free port of the loopback interface, and waits until it answers.
     *
     * @throws IllegalStateException if the program is not installed, or ends at once
     */
    public static RedisServer start() throws IOException {
        if (!isInstalled()) {
            throw new IllegalStateException("There is no " + PROGRAM + ": install redis-server");
        }
        Path directory = ServerPrograms.newDirectory();
        int port = ServerPrograms.freePort();
        List<String> command = List.of(
                PROGRAM.toString(),
                "--bind",
                "127.0.0.1",
                "--port",
                String.valueOf(port),
                "--dir",
                directory.toString(),
                // Otherwise it hides its directory, by which it is found when this JVM has ended.
                "--set-proc-title",
                "no");
        RedisServer server = new RedisServer(ServerPrograms.start(directory, command), port);
        long deadline = System.nanoTime() + START.toNanos();
        while (!server.answers()) {
            if (!server.process.isAlive() || System.nanoTime() - deadline > 0) {
                server.close();
                throw new IllegalStateException(Files.readString(directory.resolve("log")));
            }
            Load.pause(Duration.ofMillis(20));
        }
        return server;
    }

    private boolean answers() {
        try (Socket connection = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return connection.isConnected();
        } catch (IOException notYet) {
            return false;
        }
    }

    public String url() {
        return "redis://127.0.0.1:" + port;
    }

    /** Returns the version of the program. */
    String version() throws IOException {
        try (BufferedReader output =
                new ProcessBuilder(PROGRAM.toString(), "--version").start().inputReader()) {
            Matcher version = VERSION.matcher(output.readLine());
            if (!version.find()) {
                throw new IllegalStateException(PROGRAM + " does not tell its version");
            }
            return version.group(1);
        }
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }
}
