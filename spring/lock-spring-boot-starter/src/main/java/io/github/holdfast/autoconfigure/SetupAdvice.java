package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.DatabaseSetupException;
import io.github.holdfast.repository.DatabaseSetupException.Problem;
import io.github.holdfast.repository.LockSchema;
import org.jspecify.annotations.Nullable;

/** What to do about each problem of a database, by the properties of this application. */
final class SetupAdvice {

    private static final String NOT_REACHABLE = """
            Check that the database is up, and that this is its URL:

                %s=<JDBC URL>""";

    private static final String WRONG_PASSWORD = """
            Check the user and the password:

                %s=<user>
                %s=<password>""";

    private static final String POOL_OF_APPLICATION = """
            Give lock operations a pool of their own:

                holdfast.datasource.maximum-pool-size=5

            or enlarge the application's:

                spring.datasource.hikari.maximum-pool-size=<more>""";

    private static final String POOL_OF_LOCKS = """
            Enlarge the pool of the lock operations:

                %s=<more>""";

    private static final String GRANT = """
            The user of the lock operations needs the rights to select, insert, update and delete in the tables, and to use \
            their schema.""";

    private static final String CREATE_AS_OTHER = """
             To create the tables, it also needs that right. Or another user creates them, and you set

                holdfast.schema.management=validate

            """;

    private static final String OWN_SCRIPT = """
            The SQL for exactly this persistence unit, with its naming strategy, its schema and its quotes, is written to a file by

                holdfast.schema.script=<file>

            and returned by LockSchema.script(entityManagerFactory).""";

    private static final String READ_ONLY = """
            Give lock operations connections that may write: the pool, the user or the session is read-only. The setting of the \
            pool is

                spring.datasource.hikari.read-only=false""";

    private static final String REPLICA = """
            The server only repeats what another one writes. Connect to that one:

                %s=<JDBC URL of the primary>""";

    private static final String OTHER_VERSION = """
            If a table is there and lacks a column, it is of another version: apply the changes since that version.

            """;

    private static final String CREATE_BY_STARTER = """
            Let the starter create them:

                holdfast.schema.management=sql

            """;

    private static final String CREATE_YOURSELF = """
            To create them yourself, include %s in your Liquibase changelog, or run the file for your database in db/holdfast of \
            the jar lock-changelog, with Flyway for instance. These have the plain names.

            """.formatted(LockSchema.CHANGELOG);

    private static final String WRONG_PLACE = """
            Tell the persistence unit, or its connections, where the tables are:

                spring.jpa.properties.hibernate.default_schema=<schema>
                spring.datasource.hikari.schema=<schema>

            or create that schema, and the tables there. With MySQL and MariaDB, it is the database in the JDBC URL, or \
            hibernate.default_catalog.""";

    private static final String COLLATION = """
            Change the column as the message says, or drop the lock tables, and let the starter create them:

                holdfast.schema.management=sql""";

    private static final String COLLATION_OF_STARTER =
            "Change the column as the message says, or drop the lock tables: the starter creates them again.";

    private static final String CHARACTER_SET = """
            Remove the character set from the JDBC URL (characterEncoding, connectionCollation), or make it Unicode:

                %s=<JDBC URL with characterEncoding=UTF-8>""";

    private static final String DIALECT = """
            Let Hibernate find the dialect: remove spring.jpa.database-platform, spring.jpa.database and \
            spring.jpa.properties.hibernate.dialect, or name the dialect of the connected database:

                spring.jpa.database-platform=<class of its dialect>""";

    private static final String POOLER = """
            Let the driver prepare no statements on the server:

                spring.datasource.hikari.data-source-properties.prepareThreshold=0

            or set the pooler to session mode, or connect to the database directly.""";

    private static final String OTHER_BEAN = """
            Let the DataSource bean with @LockDataSource connect to the database and the schema of the persistence unit, or remove \
            the annotation.""";

    private static final String OTHER_URL = """
            Use the database of the persistence unit, and its schema:

                holdfast.datasource.url=<JDBC URL of the persistence unit>

            or remove holdfast.datasource.url: the pool is then a copy of the application's.""";

    private static final String OTHER = """
            Change what the message names. To start without locks, set

                holdfast.enabled=false""";

    private final @Nullable TablePlan plan;
    private final LockConnections connections;

    /**
     * Creates the advice.
     *
     * @param plan what creates the tables; null if that is not decided yet
     * @param connections those of the lock operations
     */
    SetupAdvice(@Nullable TablePlan plan, LockConnections connections) {
        this.plan = plan;
        this.connections = connections;
    }

    /** Returns the failure with the advice for its problem. */
    LockSetupException on(RuntimeException failed) {
        return with(Problem.of(failed), failed);
    }

    /** Returns the failure of an application whose lock operations lead to another database than its persistence unit. */
    LockSetupException onOtherDatabase(DatabaseSetupException missing) {
        if (missing.problem() != Problem.TABLES_MISSING && missing.problem() != Problem.WRONG_PLACE) {
            return on(missing);
        }
        return new LockSetupException(
                "The connections of lock operations lead to another database or schema than the persistence unit: "
                        + missing.getMessage(),
                action(Problem.OTHER_DATABASE),
                missing);
    }

    private LockSetupException with(Problem problem, RuntimeException failed) {
        return new LockSetupException(String.valueOf(failed.getMessage()), action(problem), failed);
    }

    /** Returns what to do about a problem. */
    String action(Problem problem) {
        return switch (problem) {
            case NOT_REACHABLE -> NOT_REACHABLE.formatted(property("url"));
            case WRONG_PASSWORD -> WRONG_PASSWORD.formatted(property("username"), property("password"));
            case EXHAUSTED ->
                isOfApplication() ? POOL_OF_APPLICATION : POOL_OF_LOCKS.formatted(property("maximum-pool-size"));
            case MISSING_RIGHT -> is(SchemaManagement.SQL) ? GRANT + CREATE_AS_OTHER + OWN_SCRIPT : GRANT;
            case READ_ONLY -> READ_ONLY;
            case REPLICA -> REPLICA.formatted(property("url"));
            case TABLES_MISSING -> createTables();
            case WRONG_PLACE -> WRONG_PLACE;
            case COLLATION -> isOfStarter() ? COLLATION_OF_STARTER : COLLATION;
            case CHARACTER_SET -> CHARACTER_SET.formatted(property("url"));
            case DIALECT -> DIALECT;
            case POOLER -> POOLER;
            case UNSUPPORTED -> LockSetupException.SUPPORTED;
            case OTHER_DATABASE -> connections.kind() == LockConnections.Kind.BEAN ? OTHER_BEAN : OTHER_URL;
            case OTHER -> OTHER;
        };
    }

    /** Returns the property of the lock operations' connections. */
    private String property(String name) {
        return switch (connections.kind()) {
            case OWN_POOL -> "holdfast.datasource." + name;
            case BEAN -> name + " of the DataSource bean with @LockDataSource";
            case APPLICATION -> "spring.datasource." + name;
        };
    }

    private String createTables() {
        String reason = plan == null ? "" : "They were not created, because " + plan.reason() + ".\n\n";
        return reason + (isOfStarter() ? OTHER_VERSION : CREATE_BY_STARTER) + CREATE_YOURSELF + OWN_SCRIPT;
    }

    private boolean isOfApplication() {
        return connections.kind() == LockConnections.Kind.APPLICATION;
    }

    private boolean isOfStarter() {
        return is(SchemaManagement.SQL) || is(SchemaManagement.LIQUIBASE);
    }

    private boolean is(SchemaManagement management) {
        return plan != null && plan.management() == management;
    }
}
