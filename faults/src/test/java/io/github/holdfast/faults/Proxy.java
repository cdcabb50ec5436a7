package io.github.holdfast.faults;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** A network between a worker and the server, on the loopback interface, that can be bad. Thread-safe. */
final class Proxy implements AutoCloseable {

    /** What it does with what it is sent. */
    enum Mode {
        PASS,
        /** Keeps everything for itself. */
        BLACK_HOLE,
        /** Passes everything a fifth of a second late. */
        DELAY,
        /** Passes a COMMIT, and ends the client's connection before the answer. */
        DROP_COMMIT_REPLY
    }

    private final ServerSocket listener;
    private final int target;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final AtomicInteger dropped = new AtomicInteger();
    private volatile Mode mode = Mode.PASS;

    Proxy(int target) throws IOException {
        this.target = target;
        this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        start("accepting", this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** How many answers to a COMMIT it has kept from a client. */
    int dropped() {
        return dropped.get();
    }

    void set(Mode other) {
        mode = other;
    }

    /** Ends all connections. */
    void cut() {
        sockets.forEach(Proxy::close);
        sockets.clear();
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket client = listener.accept();
                try {
                    connect(client);
                } catch (IOException serverIsDown) {
                    close(client);
                }
            } catch (IOException closed) {
                // The loop looks.
            }
        }
    }

    private void connect(Socket client) throws IOException {
        Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
        client.setTcpNoDelay(true);
        server.setTcpNoDelay(true);
        sockets.add(client);
        sockets.add(server);
        start("requests", () -> pump(client, server, true));
        start("answers", () -> pump(server, client, false));
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, "proxy " + name);
        thread.setDaemon(true);
        thread.start();
    }

    private void pump(Socket from, Socket to, boolean isRequest) {
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
                out.write(buffer, 0, read);
                out.flush();
                if (now == Mode.DROP_COMMIT_REPLY && isRequest && isCommit(buffer, read)) {
                    dropped.incrementAndGet();
                    close(from);
                }
            }
        } catch (IOException ended) {
            // So does the other direction.
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
            // That is what was wanted.
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        cut();
    }
}
