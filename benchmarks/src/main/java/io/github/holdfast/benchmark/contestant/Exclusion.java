package io.github.holdfast.benchmark.contestant;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Checks that only one thread at a time is in the critical section, and counts the hand-overs between threads. It also works for
 * several processes, which share a memory-mapped file.
 */
public final class Exclusion {

    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final long PROCESS = ProcessHandle.current().pid() << 32;
    private static final int INSIDE = 0;
    private static final int LAST = Long.BYTES;
    private static final int HAND_OVERS = 2 * Long.BYTES;
    private static final int LEFT_AT = 3 * Long.BYTES;
    private static final int SIZE = 4 * Long.BYTES;

    private final ByteBuffer memory;

    private Exclusion(ByteBuffer memory) {
        this.memory = memory;
    }

    /** Returns a check for the threads of this process. */
    public static Exclusion inProcess() {
        return new Exclusion(ByteBuffer.allocateDirect(SIZE));
    }

    /** Returns a check for the threads of all processes that use the same file. */
    public static Exclusion in(Path file) {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new Exclusion(channel.map(MapMode.READ_WRITE, 0, SIZE));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Enters the critical section.
     *
     * @return the nanoseconds since another thread left it; negative if the calling thread left it last
     */
    long enter() {
        long me = PROCESS | Thread.currentThread().getId();
        long other = (long) LONGS.compareAndExchange(memory, INSIDE, 0L, me);
        if (other != 0) {
            throw new IllegalStateException("Threads " + Long.toHexString(me) + " and " + Long.toHexString(other)
                    + " are inside at the same time");
        }
        // On Linux, the monotonic clock is the same for all processes.
        long sinceLeft = System.nanoTime() - (long) LONGS.getVolatile(memory, LEFT_AT);
        boolean isHandOver = (long) LONGS.getVolatile(memory, LAST) != me;
        if (isHandOver) {
            LONGS.setVolatile(memory, HAND_OVERS, handOvers() + 1);
        }
        LONGS.setVolatile(memory, LAST, me);
        return isHandOver ? sinceLeft : -1;
    }

    void leave() {
        LONGS.setVolatile(memory, LEFT_AT, System.nanoTime());
        LONGS.setVolatile(memory, INSIDE, 0L);
    }

    public long handOvers() {
        return (long) LONGS.getVolatile(memory, HAND_OVERS);
    }
}
