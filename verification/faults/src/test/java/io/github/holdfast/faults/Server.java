package io.github.holdfast.faults;

import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.Unavailable;
import io.github.holdfast.test.process.JavaProcess;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/** The server of a run, which can be killed, and whose wall clock can be set. It has a process of its own: {@link ServerProcess}. */
final class Server implements AutoCloseable {

    private static final Duration LONGEST_START = Duration.ofMinutes(3);

    /** How long until each process of the server looks at the clock's file again. */
    private static final Duration NOTICED = Duration.ofMillis(1200);

    private final TestDatabase kind;
    private final WallClock clock;
    private final JavaProcess process;
    private final String[] address;
    private Duration ahead = Duration.ZERO;
    private Duration farthestAhead = Duration.ZERO;

    private Server(TestDatabase kind, WallClock clock, JavaProcess process, String ready) {
        this.kind = kind;
        this.clock = clock;
        this.process = process;
        this.address = ready.split(" ", -1);
    }

    /**
     * Starts it.
     *
     * @throws RuntimeException {@link Unavailable} if it is not to be had here
     */
    static Server start(TestDatabase kind, Path directory) throws InterruptedException {
        WallClock clock = new WallClock(directory.resolve("server-clock"), Duration.ZERO);
        JavaProcess process = JavaProcess.of(ServerProcess.class)
                .env(clock.environmentOfServer(kind))
                .args(kind.name())
                .start();
        String line = process.awaitLine(
                output -> output.startsWith(ServerProcess.READY) || output.startsWith(ServerProcess.UNAVAILABLE),
                LONGEST_START);
        if (line.startsWith(ServerProcess.UNAVAILABLE)) {
            process.close();
            throw Unavailable.because(line.substring(ServerProcess.UNAVAILABLE.length()));
        }
        return new Server(kind, clock, process, line.substring(ServerProcess.READY.length()));
    }

    TestDatabase kind() {
        return kind;
    }

    /** The database's URL, the same after each start. */
    String url() {
        return address[0];
    }

    String user() {
        return address[1];
    }

    String password() {
        return address[2];
    }

    Connection connection() throws SQLException {
        return DriverManager.getConnection(url(), user(), password());
    }

    void execute(String sql) throws SQLException {
        try (Connection connection = connection();
                Statement statement = connection.createStatement()) {
            boolean unused = statement.execute(sql);
        }
    }

    /** Executes it as the administrator. */
    void administer(String sql) throws InterruptedException {
        tell(ServerProcess.ADMINISTER + sql);
    }

    /** Ends all its processes at once. */
    void kill() throws InterruptedException {
        tell(ServerProcess.KILL);
    }

    /** Starts it again, on the same data and the same port. */
    void restart() throws InterruptedException {
        tell(ServerProcess.RESTART);
    }

    private void tell(String command) throws InterruptedException {
        process.send(command);
        String answer = process.awaitLine(line -> line.startsWith(ServerProcess.DONE), LONGEST_START);
        if (!answer.equals(ServerProcess.DONE)) {
            throw new IllegalStateException(answer);
        }
    }

    /** Sets its wall clock, and waits until all its sessions have noticed: they do not at the same time. */
    void setClock(Duration aheadOfMachine) throws InterruptedException {
        clock.set(aheadOfMachine);
        ahead = aheadOfMachine;
        farthestAhead = farthestAhead.compareTo(ahead) < 0 ? ahead : farthestAhead;
        Thread.sleep(NOTICED.toMillis());
    }

    /** How far its clock is ahead of the machine's. */
    Duration ahead() {
        return ahead;
    }

    /** How far it ever was. */
    Duration farthestAhead() {
        return farthestAhead;
    }

    @Override
    public void close() {
        process.close();
    }
}
