package io.github.holdfast.test.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * A separate JVM with this JVM's class path. A test can kill or pause it.
 *
 * <p>Its {@code main} method should read the standard input to the end, preferably with {@link #exitWithParent()} or {@link
 * #commands}. Then the process also ends when this JVM is killed. Its output includes its standard error. Thread-safe.
 *
 * <pre>{@code
 * try (JavaProcess worker = JavaProcess.of(Worker.class).args(database.url()).start()) {
 *     worker.awaitLine("holding"::equals, Duration.ofSeconds(20));
 *     worker.kill();
 * }
 * }</pre>
 */
public final class JavaProcess implements AutoCloseable {

    /** How long a process needs at most until it is ready, on a machine that runs several builds. */
    public static final Duration LONGEST_START = Duration.ofMinutes(3);

    private final Process process;
    private final Writer input;
    private final List<String> lines = new ArrayList<>();
    private int awaited;
    private boolean ended;

    JavaProcess(Process process) {
        this.process = process;
        this.input = process.outputWriter(StandardCharsets.UTF_8);
        Thread reader = new Thread(this::readOutput, "output of " + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Prepares a JVM.
     *
     * @param main the class whose {@code main} method it runs
     * @return a builder to configure and start it
     */
    public static JavaProcessBuilder of(Class<?> main) {
        return new JavaProcessBuilder(main);
    }

    /** Halts this JVM when its standard input ends, because then its parent has ended. Call it in the child process. */
    public static void exitWithParent() {
        commands(line -> {});
    }

    /**
     * Does the same as {@link #exitWithParent()}, and also passes on each line from the parent. Call it in the child process.
     *
     * @param command called with each line, on a separate thread; if it throws, this JVM halts with status 2
     */
    public static void commands(Consumer<String> command) {
        Thread reader = new Thread(() -> halt(readLines(command)), "commands");
        reader.setDaemon(true);
        reader.start();
    }

    private static int readLines(Consumer<String> command) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                command.accept(line);
            }
            return 1;
        } catch (IOException | RuntimeException e) {
            e.printStackTrace();
            return 2;
        }
    }

    private static void halt(int status) {
        Runtime.getRuntime().halt(status);
    }

    /**
     * Writes a line to the standard input of the process.
     *
     * @param line the line without its end
     * @throws UncheckedIOException if the process has ended
     */
    public synchronized void send(String line) {
        try {
            input.write(line + System.lineSeparator());
            input.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(output(), e);
        }
    }

    /**
     * Waits for a line in the output. Each call continues after the line that the previous call found.
     *
     * @param condition returns true for the wanted line
     * @param timeout how long to wait at most
     * @return the line
     * @throws AssertionError with all output, if the process ends or the time is over without such a line
     * @throws InterruptedException if this thread is interrupted
     */
    public synchronized String awaitLine(Predicate<String> condition, Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (true) {
            while (awaited < lines.size()) {
                String line = lines.get(awaited++);
                if (condition.test(line)) {
                    return line;
                }
            }
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (ended || left <= 0) {
                throw new AssertionError((ended ? "It ended" : "Not within " + timeout) + ". Its output:\n" + output());
            }
            wait(left);
        }
    }

    /**
     * Returns its output.
     *
     * @return the lines so far, standard error included
     */
    public synchronized List<String> lines() {
        return List.copyOf(lines);
    }

    /**
     * Returns the process id.
     *
     * @return the id
     */
    public long pid() {
        return process.pid();
    }

    /**
     * Ends the process at once with SIGKILL, and waits for its end. No shutdown hook runs. Does nothing if the process has
     * already ended.
     */
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    /**
     * Pauses all threads of the process wherever they are (SIGSTOP), as a long garbage collection would. On Linux, all threads
     * have stopped when this method returns. Elsewhere, a thread may run on for a moment.
     */
    public void pause() {
        Signal.stop(pid());
    }

    /** Resumes the process after {@link #pause()} (SIGCONT). */
    public void resume() {
        Signal.resume(pid());
    }

    /**
     * Waits until the process ends by itself, and until its output has been read.
     *
     * @param timeout how long to wait at most
     * @return its exit status
     * @throws AssertionError with all output, if the process does not end in time
     * @throws InterruptedException if this thread is interrupted
     */
    public int waitFor(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        if (!process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new AssertionError("It runs for longer than " + timeout + ". Its output:\n" + output());
        }
        awaitEndOfOutput(deadline);
        return process.exitValue();
    }

    /** The thread that reads the output may be behind. A child of the process may keep the output open, and is not waited for longer. */
    private synchronized void awaitEndOfOutput(long deadline) throws InterruptedException {
        long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        while (!ended && left > 0) {
            wait(left);
            left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
        }
    }

    /** The same as {@link #kill()}. */
    @Override
    public void close() {
        kill();
    }

    private synchronized String output() {
        return String.join("\n", lines);
    }

    private void readOutput() {
        try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                add(line);
            }
        } catch (IOException e) {
            add(e.toString());
        }
        end();
    }

    private synchronized void add(String line) {
        lines.add(line);
        notifyAll();
    }

    private synchronized void end() {
        ended = true;
        notifyAll();
    }
}
