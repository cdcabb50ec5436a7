package io.github.holdfast.test;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A proxy in front of a server on the loopback interface. It simulates a faulty network, and counts what it passes. Thread-safe. */
public final class Proxy implements AutoCloseable {

    /** How the proxy handles data. */
    public enum Mode {
        /** Passes everything. */
        PASS,
        /** Refuses new connections; passes everything on existing connections. */
        REFUSE,
        /** Passes nothing. */
        BLACK_HOLE,
        /** Passes everything a fifth of a second late. */
        DELAY,
        /** Passes a COMMIT, and closes the client's connection before the answer. */
        DROP_COMMIT_REPLY
    }

    private static final Pattern ADDRESS = Pattern.compile("//[^:/]+:(\\d+)/");

    private final ServerSocket listener;
    private final String url;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger dropped = new AtomicInteger();
    private final AtomicLong roundTrips = new AtomicLong();
    private final AtomicLong sent = new AtomicLong();
    private final AtomicLong received = new AtomicLong();
    private volatile Mode mode = Mode.PASS;
    private volatile int target;

    private Proxy(ServerSocket listener, String url, int target) {
        this.listener = listener;
        this.url = url;
        this.target = target;
    }

    /**
     * Starts a proxy that passes everything.
     *
     * @param url the JDBC URL of a server on the loopback interface, with its port
     * @return the proxy, to be closed
     */
    public static Proxy to(String url) {
        Matcher address = ADDRESS.matcher(url);
        if (!address.find()) {
            throw new IllegalArgumentException("No port in " + url);
        }
        try {
            ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
            String through = address.replaceFirst("//127.0.0.1:" + listener.getLocalPort() + "/");
            Proxy proxy = new Proxy(listener, through, Integer.parseInt(address.group(1)));
            start("accepting", proxy::accept);
            return proxy;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns the URL through which clients connect to the server.
     *
     * @return the server's URL with the proxy's port
     */
    public String url() {
        return url;
    }

    /**
     * Returns how many connections the proxy has refused.
     *
     * @return the number
     */
    public int refused() {
        return refused.get();
    }

    /**
     * Returns how many answers to a COMMIT the proxy has withheld from clients.
     *
     * @return the number
     */
    public int dropped() {
        return dropped.get();
    }

    /**
     * Returns how often a client waited for its server. A round trip begins when a client sends data after the server has sent some,
     * and with its first data. What a client has received is counted before.
     *
     * @return the number of round trips of all connections
     */
    public long roundTrips() {
        return roundTrips.get();
    }

    /**
     * Returns how much the clients have sent.
     *
     * @return the number of bytes, of all connections
     */
    public long sentBytes() {
        return sent.get();
    }

    /**
     * Returns how much the clients have received.
     *
     * @return the number of bytes, of all connections
     */
    public long receivedBytes() {
        return received.get();
    }

    /**
     * Changes the mode, for existing connections too.
     *
     * @param other the new mode
     */
    public void set(Mode other) {
        mode = other;
    }

    /**
     * Sends new connections to another server. Existing connections stay unchanged.
     *
     * @param port the server's port on the loopback interface
     */
    public void leadTo(int port) {
        target = port;
    }

    /** Ends all connections. */
    public void cut() {
        sockets.forEach(Proxy::close);
        sockets.clear();
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket client = listener.accept();
                if (mode == Mode.REFUSE) {
                    refused.incrementAndGet();
                    close(client);
                    continue;
                }
                try {
                    connect(client);
                } catch (IOException serverIsDown) {
                    close(client);
                }
            } catch (IOException closed) {
                // The loop checks whether the listener is closed.
            }
        }
    }

    private void connect(Socket client) throws IOException {
        Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
        client.setTcpNoDelay(true);
        server.setTcpNoDelay(true);
        sockets.add(client);
        sockets.add(server);
        if (listener.isClosed()) {
            // The proxy was closed meanwhile. This ends the connections that close() did not know yet.
            cut();
            return;
        }
        AtomicBoolean isAnswered = new AtomicBoolean(true);
        start(
                "requests",
                () -> pump(client, server, true, length -> {
                    sent.addAndGet(length);
                    if (isAnswered.getAndSet(false)) {
                        roundTrips.incrementAndGet();
                    }
                }));
        start(
                "answers",
                () -> pump(server, client, false, length -> {
                    received.addAndGet(length);
                    isAnswered.set(true);
                }));
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, "proxy " + name);
        thread.setDaemon(true);
        thread.start();
    }

    private void pump(Socket from, Socket to, boolean isRequest, IntConsumer counter) {
        byte[] buffer = new byte[16 * 1024];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                Mode now = mode;
                if (now == Mode.BLACK_HOLE) {
                    continue;
                }
                if (now == Mode.DELAY) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
                }
                // Before the other side can have it.
                counter.accept(read);
                out.write(buffer, 0, read);
                out.flush();
                if (now == Mode.DROP_COMMIT_REPLY && isRequest && isCommit(buffer, read)) {
                    dropped.incrementAndGet();
                    close(from);
                }
            }
        } catch (IOException ended) {
            // The other direction ends too.
        } finally {
            close(from);
            close(to);
            sockets.remove(from);
            sockets.remove(to);
        }
    }

    private static boolean isCommit(byte[] buffer, int length) {
        return new String(buffer, 0, length, StandardCharsets.ISO_8859_1)
                .toUpperCase(Locale.ROOT)
                .contains("COMMIT");
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException alreadyClosed) {
            // The socket is closed in any case.
        }
    }

    /** Ends all connections, and accepts no more. */
    @Override
    public void close() throws IOException {
        listener.close();
        cut();
    }
}
