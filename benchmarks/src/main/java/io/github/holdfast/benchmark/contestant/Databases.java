package io.github.holdfast.benchmark.contestant;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Chooses and creates the databases of a benchmark. */
public final class Databases {

    private Databases() {}

    /**
     * Reads the arguments of a main method.
     *
     * @param arguments kinds of databases, separated by commas; none, or {@code true} from Maven, for the default kinds
     */
    public static List<TestDatabase> chosen(String[] arguments, List<TestDatabase> byDefault) {
        List<TestDatabase> chosen = Stream.of(arguments)
                .flatMap(argument -> Stream.of(argument.split(",")))
                .filter(name -> !name.isBlank() && !name.equalsIgnoreCase("true"))
                .map(name -> TestDatabase.valueOf(name.strip().toUpperCase(Locale.ROOT)))
                .toList();
        return chosen.isEmpty() ? byDefault : chosen;
    }

    /** Creates a database that waits for the disk at each commit. */
    public static Database durable(TestDatabase kind) {
        System.setProperty("holdfast.test.durable", "true");
        Database database = Database.create(kind);
        String setting = switch (kind) {
            case POSTGRESQL -> database.queryForString("select current_setting('fsync')");
            case MARIADB, MYSQL -> database.queryForString("select @@innodb_flush_log_at_trx_commit");
            case H2_MEMORY, H2_FILE, H2_TCP -> "1";
        };
        if (!List.of("on", "1").contains(setting)) {
            throw new IllegalStateException(
                    kind.label() + " " + database.version() + " does not wait for the disk: " + setting);
        }
        return database;
    }
}
