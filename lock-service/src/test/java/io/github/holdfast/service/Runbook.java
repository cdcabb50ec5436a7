package io.github.holdfast.service;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.springframework.jdbc.core.JdbcTemplate;

/** The SQL of the page of runbooks, as it is for one database. */
final class Runbook {

    /** What an operator replaces. */
    static final String LOCK = "order:1001";

    static final String TASK = "invoices";
    private static final String TOKEN = "1795211400000012";
    private static final String SESSION = "4711";

    private static final Pattern STEP = Pattern.compile(
            "^\\d+\\. \\*\\*(.*?)\\*\\*(.*?)(?=^\\d+\\. |^## |\\z)", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern BLOCK =
            Pattern.compile("^ *```sql\n(.*?);\n *```$", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern KINDS = Pattern.compile("^ *-- ([\\w, ]+)\n");

    private static final String OPERATOR = "holdfast_operator";

    private final Database database;
    private final String page;
    private final JdbcTemplate jdbc;

    private Runbook(Database database, String page) {
        this.database = database;
        this.page = page;
        this.jdbc = new JdbcTemplate(database.pool(this::connect));
    }

    /** An application's user of MySQL or MariaDB may not see who waits for whom. */
    private void connect(HikariConfig pool) {
        pool.setMaximumPoolSize(1);
        switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP, POSTGRESQL -> {}
            case MARIADB, MYSQL -> {
                database.administer(
                        "create user if not exists " + OPERATOR + " identified by 'secret'",
                        "grant process on *.* to " + OPERATOR,
                        "grant all privileges on " + database.queryForString("select database()") + ".* to "
                                + OPERATOR);
                pool.setUsername(OPERATOR);
                pool.setPassword("secret");
            }
        }
        if (database.kind() == TestDatabase.MYSQL) {
            database.administer(
                    "grant select, execute on sys.* to " + OPERATOR,
                    "grant select on performance_schema.* to " + OPERATOR);
        }
    }

    /** Lets the database be as it was. */
    void close() {
        switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP, POSTGRESQL -> {}
            case MARIADB, MYSQL -> database.administer("drop user " + OPERATOR);
        }
    }

    static Runbook on(Database database) throws IOException {
        return new Runbook(database, Files.readString(ProjectDirectory.resolve("docs/operate/runbooks.md")));
    }

    /** All statements for this database, but those that end a session. */
    List<String> statements() {
        return blocks(page).filter(sql -> !sql.contains(SESSION)).toList();
    }

    /**
     * The statements of a step for this database.
     *
     * @param title how the text of the step begins
     */
    List<String> step(String title) {
        List<String> found = STEP.matcher(page)
                .results()
                .filter(step -> step.group(1).startsWith(title))
                .flatMap(step -> blocks(step.group(2)))
                .toList();
        if (found.isEmpty()) {
            throw new AssertionError("No SQL for " + database.kind() + " in the step: " + title);
        }
        return found;
    }

    private Stream<String> blocks(String text) {
        return BLOCK.matcher(text).results().map(block -> block.group(1)).filter(this::isForThis);
    }

    private boolean isForThis(String sql) {
        String kind = switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "H2";
            case POSTGRESQL -> "PostgreSQL";
            case MARIADB -> "MariaDB";
            case MYSQL -> "MySQL";
        };
        Matcher kinds = KINDS.matcher(sql);
        return !kinds.lookingAt() || List.of(kinds.group(1).split(", ")).contains(kind);
    }

    List<Map<String, Object>> query(String sql) {
        return jdbc.queryForList(sql);
    }

    void execute(String sql) {
        jdbc.execute(sql);
    }

    /** The number in a column of the first row that a query finds. */
    static long number(List<Map<String, Object>> found, String column) {
        return Long.parseLong(String.valueOf(found.get(0).get(column)));
    }

    /** Executes a statement for the grant with a token, and returns how many rows it changed. */
    int change(String sql, long token) {
        return jdbc.update(sql.replace(TOKEN, String.valueOf(token)));
    }

    /** Ends a session, as a statement of the page says. */
    void end(String sql, long session) {
        database.administer(sql.replace(SESSION, String.valueOf(session)));
    }
}
