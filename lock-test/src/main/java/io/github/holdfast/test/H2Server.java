package io.github.holdfast.test;

import java.nio.file.Path;
import java.sql.SQLException;
import org.h2.engine.Constants;
import org.h2.tools.Server;

/** H2 needs no server of its own: a database exists as soon as somebody connects to its URL. */
final class H2Server extends DatabaseServer {

    private static final String USER = "sa";

    static {
        // H2's TCP server would bind to all interfaces; there is no other option for it, and H2 reads it once, when it
        // is loaded.
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

    /** The TCP server of another JVM. What is committed there outlives a kill: by default H2 writes it half a second later. */
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
        Sql.execute(kind().dataSource(url(name), user(), password()), statements);
    }
}
