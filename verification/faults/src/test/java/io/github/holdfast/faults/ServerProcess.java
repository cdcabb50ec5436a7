package io.github.holdfast.faults;

import io.github.holdfast.test.RestartableDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.process.JavaProcess;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.opentest4j.TestAbortedException;

/** The program of the process that a {@link Server} is started by; the clocks of both are the ones of that process. */
final class ServerProcess {

    static final String READY = "ready ";
    static final String UNAVAILABLE = "unavailable ";
    static final String DONE = "done";

    static final String KILL = "kill";
    static final String RESTART = "restart";
    static final String ADMINISTER = "administer ";

    private ServerProcess() {}

    /** Arguments: the kind of server. */
    public static void main(String[] args) throws InterruptedException {
        BlockingQueue<String> commands = new LinkedBlockingQueue<>();
        JavaProcess.commands(commands::add);
        RestartableDatabase server;
        try {
            server = RestartableDatabase.start(TestDatabase.valueOf(args[0]));
        } catch (TestAbortedException unavailable) {
            System.out.println(UNAVAILABLE + unavailable.getMessage());
            return;
        }
        System.out.println(READY
                + String.join(
                        " ",
                        server.database().url(),
                        server.database().user(),
                        server.database().password()));
        while (true) {
            String command = commands.take();
            try {
                obey(command, server);
                System.out.println(DONE);
            } catch (RuntimeException failed) {
                System.out.println(DONE + " not: " + failed);
            }
        }
    }

    private static void obey(String command, RestartableDatabase server) {
        switch (command) {
            case KILL -> server.kill();
            case RESTART -> server.restart();
            default -> server.database().administer(command.substring(ADMINISTER.length()));
        }
    }
}
