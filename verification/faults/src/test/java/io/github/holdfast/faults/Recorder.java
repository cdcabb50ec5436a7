package io.github.holdfast.faults;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Writes what one process does into a file, each event at once, so that it is there when the process is killed. Thread-safe. */
final class Recorder implements AutoCloseable {

    private final int worker;
    private final OutputStream file;
    private long operations;

    /**
     * A recorder of a new file.
     *
     * @param worker its number, which no other process has
     */
    Recorder(int worker, Path file) throws IOException {
        this.worker = worker;
        this.file = new FileOutputStream(file.toFile());
    }

    /** The machine's monotonic clock. */
    long now() {
        return System.nanoTime();
    }

    /** An operation begins; returns its number. */
    long begin(Action action, Facts facts) {
        return begun(action, now(), facts);
    }

    /** An operation began at that time; returns its number. */
    synchronized long begun(Action action, long nanos, Facts facts) {
        long operation = worker * 1_000_000_000L + ++operations;
        write(operation, action, Phase.INVOKE, nanos, facts);
        return operation;
    }

    /** It ends now. */
    void end(long operation, Action action, Phase phase, Facts facts) {
        write(operation, action, phase, now(), facts);
    }

    /** It ended at that time. */
    synchronized void write(long operation, Action action, Phase phase, long nanos, Facts facts) {
        write(new Event(operation, worker, action, phase, nanos, System.currentTimeMillis(), facts));
    }

    private synchronized void write(Event event) {
        try {
            file.write((event.line() + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Another worker was killed, for sure by now. */
    synchronized void killed(int other, long from) {
        long operation = begin(Action.FAULT, Facts.of(Facts.ALL).owner("kill"));
        end(operation, Action.FAULT, Phase.OK, Facts.of(Facts.ALL).owner("kill"));
        long kill = worker * 1_000_000_000L + ++operations;
        Facts facts = Facts.of(Facts.ALL);
        write(new Event(kill, other, Action.KILL, Phase.INVOKE, from, System.currentTimeMillis(), facts));
        write(new Event(kill, other, Action.KILL, Phase.OK, now(), System.currentTimeMillis(), facts));
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
