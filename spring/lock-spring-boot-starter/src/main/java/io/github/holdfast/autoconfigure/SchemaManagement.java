package io.github.holdfast.autoconfigure;

/** Who creates the tables of the locks. */
enum SchemaManagement {

    /**
     * Liquibase, from the bundled changelog, after the application's changelog and before the creation of the persistence unit.
     */
    LIQUIBASE,

    /** The starter, which runs the bundled SQL for each missing table. */
    SQL,

    /** Someone else. The application does not start without the tables. */
    VALIDATE,

    /** Someone else, for example Hibernate. */
    NONE
}
