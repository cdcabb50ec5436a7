package io.github.holdfast.test.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Finds ports for servers. A server gets its port in advance, and listens only later. Meanwhile, the kernel could give a port of
 * its own range to another process, such as the server of another test JVM. So these ports are below that range.
 */
public final class Ports {

    private static final int FIRST = 15_000;

    /** The kernel's range begins at 32,768 on Linux, and at 49,152 on other systems. */
    private static final int LAST = 32_000;

    private static final int TRIES = 100;

    private Ports() {}

    /** Returns a port on which no server listens now. */
    public static int free() {
        for (int tries = 1; ; tries++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
            try (ServerSocket unused = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return port;
            } catch (BindException e) {
                // Usually the port is in use. But the error is the same if the address does not exist, so the loop is
                // limited.
                if (tries == TRIES) {
                    throw new UncheckedIOException(e);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
