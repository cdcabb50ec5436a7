package io.github.holdfast.test;

import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.DataSource;

/** A server of PostgreSQL, MariaDB or MySQL. An administrator's statements create its databases. */
final class JdbcServer extends DatabaseServer {

    private static final Pattern URL = Pattern.compile("(jdbc:[a-z]+://[^/]+/)([^?]*)(\\?.*)?");
    private static final Pattern VERSION = Pattern.compile("[0-9]+(\\.[0-9]+)*");

    private static final Login OWNER = new Login("holdfast", "holdfast");

    private final String url;
    private final Login administrator;
    private final Login user;
    private final String version;

    private JdbcServer(TestDatabase kind, String prefix, String url, Login administrator, Login user) {
        super(kind, prefix);
        this.url = url;
        this.administrator = administrator;
        this.user = user;
        this.version = Sql.onConnection(dataSource(url), connection -> {
            requireDriver(connection.getMetaData().getDriverVersion());
            Matcher matcher = VERSION.matcher(connection.getMetaData().getDatabaseProductVersion());
            return matcher.find() ? matcher.group() : "unknown";
        });
    }

    /** Checks that the driver which the build asks for has taken the place of the usual one. */
    private static void requireDriver(String version) {
        String wanted = System.getProperty("holdfast.test.driver", "");
        if (!version.contains(wanted)) {
            throw new IllegalStateException("the driver is " + version + ", not " + wanted);
        }
    }

    /** Returns a server that this JVM has started. Also creates the ordinary user that will own the databases. */
    static JdbcServer started(TestDatabase kind, String url, Login administrator) {
        JdbcServer server = new JdbcServer(kind, "holdfast_", url, administrator, OWNER);
        Sql.execute(
                server.dataSource(url),
                kind == TestDatabase.POSTGRESQL
                        ? "create role holdfast login password 'holdfast'"
                        : "create user holdfast identified by 'holdfast'");
        return server;
    }

    /** Returns the address of this server for {@link #at} in another JVM. */
    String address() {
        return String.join(" ", url, administrator.name(), administrator.password());
    }

    /** Returns the server that another JVM has started. */
    static JdbcServer at(TestDatabase kind, String address) {
        String[] parts = address.split(" ");
        return new JdbcServer(kind, "holdfast_", parts[0], new Login(parts[1], parts[2]), OWNER);
    }

    /** Returns the server that the system properties name. */
    static Optional<DatabaseServer> existing(TestDatabase kind) {
        String property = "holdfast.test." + kind.key();
        String url = System.getProperty(property + ".url");
        if (kind.isH2() || url == null) {
            return Optional.empty();
        }
        Login login =
                new Login(System.getProperty(property + ".user", ""), System.getProperty(property + ".password", ""));
        // Other JVMs use the same server.
        String prefix = "holdfast_" + Long.toString(System.currentTimeMillis(), Character.MAX_RADIX) + "_";
        try {
            return Optional.of(new JdbcServer(kind, prefix, url, login, login));
        } catch (IllegalStateException e) {
            throw new IllegalStateException("the server at " + url + " refused: " + e.getMessage(), e);
        }
    }

    @Override
    void create(String name) {
        if (user.equals(administrator)) {
            Sql.execute(dataSource(url), "create database " + name);
        } else if (kind() == TestDatabase.POSTGRESQL) {
            Sql.execute(dataSource(url), "create database " + name + " owner " + user.name() + strategy());
        } else {
            Sql.execute(
                    dataSource(url),
                    "create database " + name,
                    // Here, the name is a pattern, and an underscore would match any character.
                    "grant all on `" + name.replace("_", "\\_") + "`.* to " + user.name());
        }
    }

    /**
     * By default, PostgreSQL writes the whole template to its log from version 15 on, which is five times as much
     * (https://www.postgresql.org/docs/current/sql-createdatabase.html).
     */
    private String strategy() {
        return version.matches("(9|1[0-4])\\..*") ? "" : " strategy file_copy";
    }

    @Override
    void drop(String name) {
        if (kind() == TestDatabase.POSTGRESQL) {
            Sql.execute(dataSource(url), "drop database if exists " + name + " with (force)");
        } else {
            killSessions(name);
            Sql.execute(dataSource(url), "drop database if exists " + name);
        }
    }

    /** Ends the sessions on a database. Otherwise an open transaction of a forgotten connection would block the drop. */
    private void killSessions(String name) {
        List<String> sessions = Sql.list(
                dataSource(url),
                "select id from information_schema.processlist where db = '" + name + "'",
                row -> row.getString(1));
        for (String session : sessions) {
            try {
                Sql.execute(dataSource(url), "kill " + session);
            } catch (IllegalStateException e) {
                // The session has ended by itself.
            }
        }
    }

    @Override
    void administer(String name, String... statements) {
        Sql.execute(dataSource(url(name)), statements);
    }

    @Override
    String url(String name) {
        Matcher matcher = URL.matcher(url);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("Not jdbc:kind://host:port/database?options: " + url);
        }
        return matcher.group(1) + name + (matcher.group(3) == null ? "" : matcher.group(3));
    }

    @Override
    String user() {
        return user.name();
    }

    @Override
    String password() {
        return user.password();
    }

    @Override
    String version() {
        return version;
    }

    private DataSource dataSource(String url) {
        return DataSources.of(kind(), url, administrator.name(), administrator.password());
    }

    /** A user and its password. */
    record Login(String name, String password) {}
}
