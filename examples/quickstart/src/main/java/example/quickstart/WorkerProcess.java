package example.quickstart;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

/** A {@link Worker} in a JVM of its own, with this one's class path. */
final class WorkerProcess implements AutoCloseable {

    private final String name;
    private final Process process;
    private final BufferedReader answers;
    private final Writer orders;

    WorkerProcess(String name, String url) throws IOException {
        this.name = name;
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String classPath = System.getProperty("java.class.path");
        process = new ProcessBuilder(
                        java,
                        "-Xmx64m",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        classPath,
                        Worker.class.getName(),
                        url,
                        name)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        answers = process.inputReader();
        orders = process.outputWriter();
    }

    @Override
    public String toString() {
        return name + " (process " + process.pid() + ")";
    }

    String name() {
        return name;
    }

    /** Waits until the worker has started, or has done what it was told. */
    void awaitReady() {
        try {
            String answer = answers.readLine();
            if (answer == null) {
                throw new IllegalStateException(this + " ended unexpectedly");
            }
        } catch (IOException e) {
            throw new IllegalStateException(this + " does not answer", e);
        }
    }

    /** Tells the worker to begin; it is done when the future is. */
    CompletableFuture<Void> begin(String order) throws IOException {
        orders.write(order + "\n");
        orders.flush();
        return CompletableFuture.runAsync(this::awaitReady);
    }

    /** Ends the worker: there will be no more orders. */
    @Override
    public void close() throws IOException {
        orders.close();
        process.onExit().join();
    }
}
