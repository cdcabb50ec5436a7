package example.leaderelection;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** A {@link ElectionNode} in a separate JVM, with the class path of this JVM. */
final class NodeProcess implements AutoCloseable {

    private final Process process;
    private final BufferedReader output;

    private NodeProcess(Process process) {
        this.process = process;
        this.output = process.inputReader();
    }

    /** Starts a node, without waiting for the end of its start-up. */
    static NodeProcess start(String name, String url, String... properties) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                ElectionNode.class.getName(),
                "--spring.application.name=" + name,
                "--spring.datasource.url=" + url));
        Stream.of(properties).map("--"::concat).forEach(command::add);
        return new NodeProcess(new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
    }

    /** Waits until the node has printed such a line, and returns it. */
    String awaitLine(Predicate<String> awaited) throws IOException {
        StringBuilder others = new StringBuilder();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (awaited.test(line)) {
                return line;
            }
            others.append(line).append('\n');
        }
        throw new IllegalStateException("The node ended before it said what it should:\n" + others);
    }

    /** Kills the process at once, like a crash. It releases nothing. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Begins to stop the node in the regular way. */
    void stop() throws IOException {
        process.outputWriter().close();
    }

    /** Stops the node in the regular way, and waits for its end. */
    @Override
    public void close() throws IOException {
        stop();
        process.onExit().join();
    }
}
