package io.github.holdfast.test.download;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** A sequence of bytes with random access. */
public interface Bytes {

    long size() throws IOException;

    /**
     * Reads from {@code from} up to, not including, {@code to}. The stream may continue beyond {@code to}, so the reader must
     * know when to stop.
     */
    InputStream range(long from, long to) throws IOException;

    static Bytes of(Path file) {
        return new Bytes() {
            @Override
            public long size() throws IOException {
                return Files.size(file);
            }

            @Override
            public InputStream range(long from, long to) throws IOException {
                FileChannel channel = FileChannel.open(file);
                return Channels.newInputStream(channel.position(from));
            }
        };
    }
}
