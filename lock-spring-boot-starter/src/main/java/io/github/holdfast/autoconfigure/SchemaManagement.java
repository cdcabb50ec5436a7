package io.github.holdfast.autoconfigure;

/** Who creates the tables of the locks. */
enum SchemaManagement {

    /** Liquibase, from the changelog that ships, before the persistence unit is made and after the application's changelog. */
    LIQUIBASE,

    /** The starter, by the SQL that ships, each table that is missing. */
    SQL,

    /** Somebody else, and the application does not start without them. */
    VALIDATE,

    /** Somebody else, perhaps Hibernate. */
    NONE
}
