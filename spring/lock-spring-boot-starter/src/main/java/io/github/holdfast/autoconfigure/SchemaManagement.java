package io.github.holdfast.autoconfigure;

/** What creates the tables of the locks. */
enum SchemaManagement {

    /**
     * Liquibase, from the bundled changelog, after the application's changelog and before the creation of the persistence unit.
     */
    LIQUIBASE,

    /** The starter, which runs the bundled SQL for each missing table. */
    SQL,

    /** Something else. The application does not start without the tables. */
    VALIDATE,

    /** Something else, for example Hibernate. */
    NONE
}
