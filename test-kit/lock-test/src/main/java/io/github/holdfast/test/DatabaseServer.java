package io.github.holdfast.test;

import java.util.concurrent.atomic.AtomicInteger;

/** A running server that can create databases. */
abstract class DatabaseServer {

    private final TestDatabase kind;
    private final String prefix;
    private final AtomicInteger databases = new AtomicInteger();

    DatabaseServer(TestDatabase kind, String prefix) {
        this.kind = kind;
        this.prefix = prefix;
    }

    /** Creates an empty database and returns its name. */
    final String newDatabase() {
        String name = prefix + databases.incrementAndGet();
        create(name);
        return name;
    }

    final TestDatabase kind() {
        return kind;
    }

    abstract void create(String name);

    abstract void drop(String name);

    abstract String url(String name);

    abstract String user();

    abstract String password();

    /** Returns the version for people, such as {@code 18.6}. */
    abstract String version();

    /** Executes statements as the server's administrator, connected to the named database. */
    abstract void administer(String name, String... statements);
}
