package io.github.holdfast.test.download;

import io.github.holdfast.test.process.Janitor;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A file on an HTTP server, read by range requests. If the server does not support these, this class downloads the file once. */
public final class RemoteBytes implements Bytes, AutoCloseable {

    private static final int TIMEOUT_MILLIS = 30_000;

    private final URI uri;
    private final long size;
    private final @Nullable Path whole;

    public RemoteBytes(URI uri) throws IOException {
        this.uri = uri;
        HttpURLConnection first = get(0, 1);
        try (InputStream body = first.getInputStream()) {
            if (first.getResponseCode() == HttpURLConnection.HTTP_PARTIAL) {
                whole = null;
                String range = first.getHeaderField("Content-Range");
                size = Long.parseLong(range.substring(range.indexOf('/') + 1));
            } else {
                whole = Janitor.temporaryDirectory().resolve("whole");
                size = Files.copy(body, whole);
            }
        }
    }

    @Override
    public long size() {
        return size;
    }

    @Override
    public InputStream range(long from, long to) throws IOException {
        if (whole != null) {
            return Bytes.of(whole).range(from, to);
        }
        HttpURLConnection connection = get(from, to);
        if (connection.getResponseCode() != HttpURLConnection.HTTP_PARTIAL) {
            connection.disconnect();
            throw new IOException("No range any more: " + uri);
        }
        return connection.getInputStream();
    }

    private HttpURLConnection get(long from, long to) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
        connection.setConnectTimeout(TIMEOUT_MILLIS);
        connection.setReadTimeout(TIMEOUT_MILLIS);
        connection.setRequestProperty("Range", "bytes=" + from + "-" + (to - 1));
        if (connection.getResponseCode() / 100 != 2) {
            connection.disconnect();
            throw new IOException("HTTP " + connection.getResponseCode() + " for " + uri);
        }
        return connection;
    }

    @Override
    public void close() throws IOException {
        if (whole != null) {
            Files.deleteIfExists(whole);
        }
    }
}
