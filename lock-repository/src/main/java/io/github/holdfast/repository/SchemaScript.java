package io.github.holdfast.repository;

import io.github.holdfast.repository.LockSchema.UnsupportedDatabaseException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The SQL script for one database. It creates each table with its indexes. */
final class SchemaScript {

    private static final Set<String> SUPPORTED = Set.of("postgresql", "mysql", "mariadb", "h2");
    private static final Pattern COMMENT = Pattern.compile("--.*");
    private static final Pattern CREATION = Pattern.compile("create table (\\w+) [^;]+(;\\s+create index [^;]+)*");

    private final String database;
    private final String path;
    private final Map<String, String> creations;

    private SchemaScript(String database, String path) {
        this.database = database;
        this.path = path;
        this.creations = creations(read(path));
    }

    /**
     * Returns the script for the connected database.
     *
     * @throws UnsupportedDatabaseException if there is no script for the database
     */
    static SchemaScript of(Connection connection) throws SQLException {
        DatabaseMetaData metaData = connection.getMetaData();
        String product = metaData.getDatabaseProductName();
        String version = metaData.getDatabaseProductVersion();
        // Not the URL, which may contain a password.
        String database = "%s (%s %s)".formatted(connection.getCatalog(), product, version);
        ManyClockedDatabase.refuse(version);
        // MySQL's driver calls a MariaDB server "MySQL", with a version like 11.4.5-MariaDB.
        String key = version.contains("MariaDB") ? "mariadb" : product.toLowerCase(Locale.ROOT);
        if (!SUPPORTED.contains(key)) {
            throw new UnsupportedDatabaseException(
                    "Holdfast has no tables for " + database + "; it supports PostgreSQL, MySQL, MariaDB and H2");
        }
        return new SchemaScript(database, "db/holdfast/" + key + ".sql");
    }

    /** Returns name, product and version, for messages. */
    String database() {
        return database;
    }

    /** Returns the path of the script on the class path. */
    String path() {
        return path;
    }

    Set<String> tables() {
        return creations.keySet();
    }

    String creationOf(String table) {
        return Objects.requireNonNull(creations.get(table), table);
    }

    private static Map<String, String> creations(String script) {
        Map<String, String> creations = new LinkedHashMap<>();
        Matcher creation = CREATION.matcher(COMMENT.matcher(script).replaceAll(""));
        while (creation.find()) {
            creations.put(creation.group(1), creation.group());
        }
        return creations;
    }

    private static String read(String path) {
        // Not Class.getResourceAsStream, which looks only in this module when it is on the module path.
        try (InputStream file = SchemaScript.class.getClassLoader().getResourceAsStream(path)) {
            if (file == null) {
                throw new IllegalStateException(path + " is not on the class path; add the artifact lock-changelog");
            }
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
