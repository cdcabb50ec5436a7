package io.github.holdfast.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports for servers that must be told theirs and listen only some time later. The kernel would give a port of its own choice to
 * somebody else meanwhile, such as the server of another test JVM; so these are below those that it chooses from.
 */
final class Ports {

    private static final int FIRST = 15_000;

    /** Linux chooses from 32,768 on, others from 49,152. */
    private static final int LAST = 32_000;

    private static final int TRIES = 100;

    private Ports() {}

    /** One on which nobody listens now. */
    static int free() {
        for (int tries = 1; ; tries++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
            try (ServerSocket unused = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return port;
            } catch (BindException e) {
                // In use, as a rule, but it is the same where there is no such address.
                if (tries == TRIES) {
                    throw new UncheckedIOException(e);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
