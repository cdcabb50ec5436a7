package io.github.holdfast.benchmark;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A proxy to a server on this machine. It counts round trips. A round trip begins when the client sends data after the server has
 * sent some.
 */
final class CountingProxy implements AutoCloseable {

    private final ServerSocket entrance;
    private final int server;
    private final AtomicLong roundTrips = new AtomicLong();

    private CountingProxy(ServerSocket entrance, int server) {
        this.entrance = entrance;
        this.server = server;
    }

    /** Opens a proxy to the server's port. */
    static CountingProxy to(int server) throws IOException {
        CountingProxy proxy = new CountingProxy(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), server);
        start("accept", proxy::accept);
        return proxy;
    }

    int port() {
        return entrance.getLocalPort();
    }

    long roundTrips() {
        return roundTrips.get();
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = entrance.accept();
            Socket upstream = new Socket(InetAddress.getLoopbackAddress(), server);
            client.setTcpNoDelay(true);
            upstream.setTcpNoDelay(true);
            AtomicBoolean hasAnswered = new AtomicBoolean(true);
            start(
                    "requests",
                    () -> pass(client, upstream, () -> {
                        if (hasAnswered.getAndSet(false)) {
                            roundTrips.incrementAndGet();
                        }
                    }));
            start("answers", () -> pass(upstream, client, () -> hasAnswered.set(true)));
        }
    }

    private static void pass(Socket from, Socket to, Runnable each) throws IOException {
        try (from;
                to) {
            byte[] buffer = new byte[65_536];
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
                each.run();
                out.write(buffer, 0, length);
            }
        }
    }

    private static void start(String name, Passing work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } catch (IOException closed) {
                        // The connection or the proxy was closed.
                    }
                },
                "proxy " + name);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() {
        try {
            entrance.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Passing {
        void run() throws IOException;
    }
}
