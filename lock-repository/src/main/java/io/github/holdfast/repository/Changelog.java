package io.github.holdfast.repository;

/** Where the Liquibase changelog of the tables is on the class path. Not for applications. */
public final class Changelog {

    public static final String PATH = "db/changelog/holdfast/changelog.xml";

    private Changelog() {}
}
