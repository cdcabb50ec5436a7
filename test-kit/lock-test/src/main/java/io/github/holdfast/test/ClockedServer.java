package io.github.holdfast.test;

import io.github.holdfast.test.process.JavaProcess;
import java.time.Duration;
import java.time.ZoneId;

/** The main class of the JVM that {@link ClockedDatabase} starts. It runs a server until the parent process ends it. */
final class ClockedServer {

    private static final String READY = "ready ";
    private static final String FAILED = "failed ";

    private ClockedServer() {}

    public static void main(String[] args) throws InterruptedException {
        JavaProcess.exitWithParent();
        try {
            JdbcServer server = Servers.startIn(ZoneId.of(args[1]), TestDatabase.valueOf(args[0]));
            System.out.println(READY + server.address());
        } catch (RuntimeException failed) {
            System.out.println(FAILED + String.valueOf(failed.getMessage()).replaceAll("\\s+", " "));
            return;
        }
        Thread.currentThread().join();
    }

    static JdbcServer await(JavaProcess process, TestDatabase kind, Duration timeout) throws InterruptedException {
        String line = process.awaitLine(output -> output.startsWith(READY) || output.startsWith(FAILED), timeout);
        if (line.startsWith(FAILED)) {
            throw Unavailable.because(kind, new IllegalStateException(line.substring(FAILED.length())));
        }
        return JdbcServer.at(kind, line.substring(READY.length()));
    }
}
