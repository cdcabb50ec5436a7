package io.github.holdfast.test;

import java.util.concurrent.atomic.AtomicInteger;

/** A running server, on which databases can be made. */
abstract class DatabaseServer {

    private final TestDatabase kind;
    private final String prefix;
    private final AtomicInteger databases = new AtomicInteger();

    DatabaseServer(TestDatabase kind, String prefix) {
        this.kind = kind;
        this.prefix = prefix;
    }

    final Database newDatabase() {
        String name = prefix + databases.incrementAndGet();
        create(name);
        return new Database(this, name);
    }

    final TestDatabase kind() {
        return kind;
    }

    abstract void create(String name);

    abstract void drop(String name);

    abstract String url(String name);

    abstract String user();

    abstract String password();

    /** The version as people write it, such as {@code 18.6}. */
    abstract String version();

    /** Runs statements as the server's administrator, connected to the named database. */
    abstract void administer(String name, String... statements);
}
