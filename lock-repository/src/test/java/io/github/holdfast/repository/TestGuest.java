package io.github.holdfast.repository;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.util.ArrayList;
import java.util.List;

/** Another user of the database, with few rights on the tables of the locks. */
public final class TestGuest implements AutoCloseable {

    private static final String NAME = "guest";

    private final Database database;

    private TestGuest(Database database) {
        this.database = database;
    }

    public static TestGuest of(Database database, String rights, String... withoutTables) {
        List<String> statements = new ArrayList<>();
        statements.add(
                switch (database.kind()) {
                    case H2_MEMORY, H2_FILE, H2_TCP -> "create user guest password 'guest'";
                    case POSTGRESQL -> "create role guest login password 'guest'";
                    case MARIADB, MYSQL -> "create user guest identified by 'guest'";
                });
        MappedNames.PLAIN.plain().stream()
                .filter(table -> !List.of(withoutTables).contains(table))
                .forEach(table -> statements.add("grant " + rights + " on " + table + " to guest"));
        database.administer(statements.toArray(String[]::new));
        return new TestGuest(database);
    }

    public void revoke(String right) {
        database.administer("revoke " + right + " on distributed_lock from guest");
    }

    public void connect(HikariConfig pool) {
        // On H2 only the administrator may connect with settings in the URL.
        pool.setJdbcUrl(database.url().replaceFirst(";.*", ""));
        pool.setUsername(NAME);
        pool.setPassword(NAME);
    }

    @Override
    public void close() {
        if (database.kind() == TestDatabase.POSTGRESQL) {
            database.administer("drop owned by guest");
        }
        database.administer("drop user guest");
    }
}
