package io.github.holdfast.repository;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What a persistence unit calls the tables of the locks and their columns: the names of the scripts, changed by its naming strategy, its
 * default schema and catalog, and its quoting. Each name is as in SQL.
 *
 * <p>Not for applications.
 */
public final class MappedNames {

    /** The names of the scripts. Known without JPA, which an application with a lock for Liquibase may lack. */
    static final MappedNames PLAIN = new MappedNames(Stream.of(
                    "distributed_lock", "lock_node", "lock_audit", "lock_run", "lock_holder", "lock_waiter")
            .collect(Collectors.toMap(table -> table, MappedNames::plain, (one, other) -> one, LinkedHashMap::new)));

    private static final Pattern WORD = Pattern.compile("\\w+");
    private static final Pattern PART = Pattern.compile("\"[^\"]+\"|`[^`]+`|\\[[^]]+]|[^.]+");

    /** By the table's name in the scripts. */
    private final Map<String, Names> tables;

    /**
     * The names of one table.
     *
     * @param table its name in SQL, with its schema if the mapping has one
     * @param columns the columns' names in SQL, by their names in the scripts; those that are the same may be left out
     */
    record Names(String table, Map<String, String> columns) {}

    /**
     * Creates the names.
     *
     * @param tables by their names in the scripts
     */
    MappedNames(Map<String, Names> tables) {
        this.tables = tables;
    }

    private static Names plain(String table) {
        return new Names(table, Map.of());
    }

    /** Returns the tables' names in the scripts. */
    List<String> plain() {
        return List.copyOf(tables.keySet());
    }

    /** Returns the tables' names in SQL. */
    public List<String> inSql() {
        return tables.values().stream().map(Names::table).toList();
    }

    /** Returns a table's name in SQL, with its schema if the mapping has one. */
    public String table(String plain) {
        return names(plain).table();
    }

    private Names names(String plain) {
        return Objects.requireNonNull(tables.get(plain), plain);
    }

    /** Returns a part of a script that concerns one table, with the names of the mapping. */
    String in(String script, String plain) {
        return WORD.matcher(script).replaceAll(word -> Matcher.quoteReplacement(mapped(word, plain)));
    }

    private String mapped(MatchResult word, String plain) {
        String text = word.group();
        Names names = names(plain);
        if (text.equals(plain)) {
            return names.table();
        }
        // Indexes and constraints: PostgreSQL requires each name to be unique in a schema, and two units may have
        // tables there.
        String table = last(names.table());
        if (text.startsWith(plain + '_') && !unquoted(table).equals(plain)) {
            return table.replace(unquoted(table), unquoted(table) + text.substring(plain.length()));
        }
        return names.columns().getOrDefault(text, text);
    }

    /** Returns the schema, or the catalog where there are no schemas, in which the mapping places the tables. */
    Optional<String> schema() {
        List<String> parts = parts(tables.values().iterator().next().table());
        return parts.size() == 1 ? Optional.empty() : Optional.of(unquoted(parts.get(parts.size() - 2)));
    }

    /**
     * Returns the tables' names without quotes and schema, by their names in the scripts, for a tool that does not quote.
     *
     * @return empty if such a tool would create other tables or columns than those of the mapping
     */
    Optional<Map<String, String>> unquoted(LockDialect dialect) {
        Map<String, String> unquoted = new LinkedHashMap<>();
        for (Map.Entry<String, Names> each : tables.entrySet()) {
            String table = last(each.getValue().table());
            boolean isKept = isSame(table, unquoted(table), dialect)
                    && each.getValue().columns().entrySet().stream()
                            .allMatch(column -> isSame(column.getValue(), column.getKey(), dialect));
            if (!isKept) {
                return Optional.empty();
            }
            // Liquibase quotes a name that has both cases.
            String folded = dialect.folded(unquoted(table));
            unquoted.put(each.getKey(), folded.equals(dialect.folded(each.getKey())) ? each.getKey() : folded);
        }
        return Optional.of(unquoted);
    }

    private static boolean isSame(String inSql, String unquoted, LockDialect dialect) {
        return resolved(inSql, dialect).equals(dialect.folded(unquoted));
    }

    private static String resolved(String inSql, LockDialect dialect) {
        String text = unquoted(inSql);
        return text.equals(inSql) ? dialect.folded(text) : text;
    }

    /** Returns a table's name as the database's catalog has it. */
    String inCatalog(String plain, LockDialect dialect) {
        return resolved(last(table(plain)), dialect);
    }

    private static List<String> parts(String inSql) {
        return PART.matcher(inSql).results().map(MatchResult::group).toList();
    }

    private static String last(String inSql) {
        List<String> parts = parts(inSql);
        return parts.get(parts.size() - 1);
    }

    private static String unquoted(String identifier) {
        return "\"`[".indexOf(identifier.charAt(0)) < 0 ? identifier : identifier.substring(1, identifier.length() - 1);
    }
}
