package io.github.holdfast.repository;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The SQL script for one database. It creates each table with its indexes. */
final class SchemaScript {

    private static final Set<String> TABLES = Set.copyOf(MappedNames.PLAIN.plain());
    private static final Pattern COMMENT = Pattern.compile("--.*");
    private static final Pattern CREATION = Pattern.compile("create table (\\w+) [^;]+(;\\s+create index [^;]+)*");

    private final String database;
    private final LockDialect dialect;
    private final MappedNames names;
    private final Map<String, String> creations;

    private SchemaScript(String database, LockDialect dialect, MappedNames names) {
        this.database = database;
        this.dialect = dialect;
        this.names = names;
        this.creations = creations(read(dialect));
        if (!creations.keySet().equals(TABLES)) {
            throw new IllegalStateException(dialect.schemaScript() + " creates the tables " + creations.keySet()
                    + ", and not exactly " + TABLES + ": each creation must have the form 'create table name (…);'");
        }
    }

    /** Returns the script for persistence units with this dialect. */
    static SchemaScript of(LockDialect dialect, MappedNames names) {
        return new SchemaScript(dialect.label(), dialect, names);
    }

    /**
     * Returns the script for the connected database.
     *
     * @throws UnsupportedDatabaseException if there is no script for the database
     */
    static SchemaScript of(Connection connection, MappedNames names) throws SQLException {
        DatabaseMetaData metaData = connection.getMetaData();
        String product = metaData.getDatabaseProductName();
        String version = metaData.getDatabaseProductVersion();
        // Not the URL, which may contain a password.
        String catalog = connection.getCatalog();
        String server = product + " " + version;
        String database = catalog == null ? server : "%s (%s)".formatted(catalog, server);
        MultiClockDatabase.refuse(version);
        LockDialect dialect = KnownDialects.of(metaData)
                .orElseThrow(() -> new UnsupportedDatabaseException(
                        "Holdfast has no tables for " + database + "; it supports " + KnownDialects.labels()));
        return new SchemaScript(database, dialect, names);
    }

    /** Returns name, product and version, for messages. */
    String database() {
        return database;
    }

    /** Returns the path of the script on the class path. */
    String path() {
        return dialect.schemaScript();
    }

    /** Returns the classification of the database's errors. */
    SqlErrors errors() {
        return SqlErrors.of(dialect);
    }

    LockDialect dialect() {
        return dialect;
    }

    /** Returns the tables' names in the script. */
    Set<String> tables() {
        return creations.keySet();
    }

    /** Returns the statements that create a table and its indexes, with the names of the mapping. */
    String creationOf(String table) {
        return names.in(Objects.requireNonNull(creations.get(table), table), table);
    }

    /** Returns the whole script, with the names of the mapping. */
    String text() {
        return tables().stream()
                .map(table -> creationOf(table) + ";\n")
                .collect(Collectors.joining(
                        "\n", "-- The lock tables of Holdfast for %s.\n\n".formatted(dialect.label()), ""));
    }

    private static Map<String, String> creations(String script) {
        Map<String, String> creations = new LinkedHashMap<>();
        Matcher creation = CREATION.matcher(COMMENT.matcher(script).replaceAll(""));
        while (creation.find()) {
            creations.put(creation.group(1), creation.group());
        }
        return creations;
    }

    private static String read(LockDialect dialect) {
        String path = dialect.schemaScript();
        // Not Class.getResourceAsStream, which looks only in this module when it is on the module path.
        try (InputStream file = dialect.getClass().getClassLoader().getResourceAsStream(path)) {
            if (file == null) {
                throw new IllegalStateException(path + " is not on the class path; add the artifact lock-changelog");
            }
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
