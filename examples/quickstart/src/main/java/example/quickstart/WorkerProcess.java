package example.quickstart;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

/** A {@link Worker} in a separate JVM, with the class path of this JVM. */
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

    /** Waits until the worker has started, or has finished its command. */
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

    /** Sends a command to the worker. The future completes when the worker has finished. */
    CompletableFuture<Void> begin(String order) throws IOException {
        orders.write(order + "\n");
        orders.flush();
        return CompletableFuture.runAsync(this::awaitReady);
    }

    /** Ends the worker by ending its input. */
    @Override
    public void close() throws IOException {
        orders.close();
        process.onExit().join();
    }
}
