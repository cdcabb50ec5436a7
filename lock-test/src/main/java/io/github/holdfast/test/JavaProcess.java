package io.github.holdfast.test;

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
 * A real JVM with this JVM's class path, to be killed or paused by a test.
 *
 * <p>Its {@code main} should read its standard input to the end, best with {@link #exitWithParent()} or {@link #commands}: then
 * it ends also when this JVM is killed. Its standard error is part of its output. Thread-safe.
 *
 * <pre>{@code
 * try (JavaProcess worker = JavaProcess.of(Worker.class).args(database.url()).start()) {
 *     worker.awaitLine("holding"::equals, Duration.ofSeconds(20));
 *     worker.kill();
 * }
 * }</pre>
 */
public final class JavaProcess implements AutoCloseable {

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
     * @return what can be configured and started
     */
    public static JavaProcessBuilder of(Class<?> main) {
        return new JavaProcessBuilder(main);
    }

    /** For the child: halts this JVM when its standard input ends, because its parent has ended. */
    public static void exitWithParent() {
        commands(line -> {});
    }

    /**
     * For the child: like {@link #exitWithParent()}, and hands over each line that the parent sends.
     *
     * @param command is called with each line, on a thread of its own; if it throws, this JVM halts with status 2
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
     * Writes a line to its standard input.
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
     * Waits for a line of its output. Each call goes on behind the line that the call before found.
     *
     * @param condition is true for the line
     * @param timeout how long to wait at most
     * @return the line
     * @throws AssertionError with all output if the process ends, or the time passes, without such a line
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
     * Its output.
     *
     * @return the lines so far, standard error included
     */
    public synchronized List<String> lines() {
        return List.copyOf(lines);
    }

    /**
     * The process id.
     *
     * @return the id
     */
    public long pid() {
        return process.pid();
    }

    /** Ends it at once and waits for that: SIGKILL, so no hook of it runs. Does nothing if it has ended. */
    public void kill() {
        process.destroyForcibly();
        boolean interrupted = false;
        while (process.isAlive()) {
            try {
                process.waitFor();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Stops all its threads in the middle of what they do (SIGSTOP), as a long garbage collection would. On Linux they stand still when
     * this returns; elsewhere one may go on for a moment.
     */
    public void pause() {
        Signal.stop(pid());
    }

    /** Lets it go on after {@link #pause()} (SIGCONT). */
    public void resume() {
        Signal.resume(pid());
    }

    /**
     * Waits until it ends by itself.
     *
     * @param timeout how long to wait at most
     * @return its exit status
     * @throws AssertionError with all output if it goes on for longer
     * @throws InterruptedException if this thread is interrupted
     */
    public int waitFor(Duration timeout) throws InterruptedException {
        if (!process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new AssertionError("It runs for longer than " + timeout + ". Its output:\n" + output());
        }
        return process.exitValue();
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
