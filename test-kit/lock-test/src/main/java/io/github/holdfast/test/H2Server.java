package io.github.holdfast.test;

import io.github.holdfast.test.process.Janitor;
import java.nio.file.Path;
import java.sql.SQLException;
import org.h2.engine.Constants;
import org.h2.tools.Server;

/** H2 in this JVM. It needs no server process, because the first connection to a URL creates the database. */
final class H2Server extends DatabaseServer {

    private static final String USER = "sa";

    static {
        // By default, H2's TCP server binds to all interfaces. Only this property changes that, and H2 reads it once,
        // when its classes are loaded.
        System.setProperty("h2.bindAddress", "127.0.0.1");
    }

    private final String location;
    private final String options;

    private H2Server(TestDatabase kind, String location, String options) {
        super(kind, "holdfast_");
        this.location = location;
        this.options = options;
    }

    static H2Server memory() {
        return new H2Server(TestDatabase.H2_MEMORY, "mem:", "");
    }

    static H2Server file() {
        return new H2Server(TestDatabase.H2_FILE, "file:" + Janitor.temporaryDirectory() + "/", "");
    }

    static H2Server tcp() {
        Path directory = Janitor.temporaryDirectory();
        try {
            Server tcp = Server.createTcpServer(
                            "-tcpPort", "0", "-tcpDaemon", "-ifNotExists", "-baseDir", directory.toString())
                    .start();
            return new H2Server(TestDatabase.H2_TCP, "tcp://127.0.0.1:" + tcp.getPort() + "/./", "");
        } catch (SQLException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    /**
     * Returns the TCP server of another JVM. Its commits survive a kill. By default, H2 would write a commit to the file half a
     * second later.
     */
    static H2Server at(int port) {
        return new H2Server(TestDatabase.H2_TCP, "tcp://127.0.0.1:" + port + "/./", ";WRITE_DELAY=0");
    }

    @Override
    void create(String name) {
        administer(name, "select 1");
    }

    @Override
    void drop(String name) {
        administer(name, "shutdown immediately");
    }

    @Override
    String url(String name) {
        return "jdbc:h2:" + location + name + ";DB_CLOSE_DELAY=-1" + options;
    }

    @Override
    String user() {
        return USER;
    }

    @Override
    String password() {
        return "";
    }

    @Override
    String version() {
        return Constants.VERSION;
    }

    @Override
    void administer(String name, String... statements) {
        Sql.execute(DataSources.of(kind(), url(name), user(), password()), statements);
    }
}
