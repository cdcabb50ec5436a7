package io.github.holdfast.repository;

import io.github.holdfast.test.Database;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;

/** What a database itself says about the lock tables: a line for each table, column and column of an index. */
final class SchemaTestDescription {

    private final Connection connection;
    private final List<String> lines = new ArrayList<>();

    private SchemaTestDescription(Connection connection) {
        this.connection = connection;
    }

    static List<String> of(Database database) throws SQLException {
        try (Connection connection = database.dataSource().getConnection()) {
            SchemaTestDescription description = new SchemaTestDescription(connection);
            for (String table :
                    List.of("distributed_lock", "lock_node", "lock_audit", "lock_run", "lock_holder", "lock_waiter")) {
                String name = database.kind().isH2() ? table.toUpperCase(Locale.ROOT) : table;
                description.columns(name);
                description.indexes(name);
                switch (database.kind()) {
                    case MYSQL, MARIADB ->
                        description.query("select engine, table_collation, row_format from information_schema.tables"
                                + " where table_schema = database() and table_name = '" + table + "'");
                    case POSTGRESQL ->
                        description.query(
                                "select relkind, relpersistence, array_to_string(reloptions, ',') from pg_class"
                                        + " where oid = '" + table + "'::regclass");
                    case H2_MEMORY, H2_FILE, H2_TCP ->
                        description.query("select table_type, storage_type from information_schema.tables"
                                + " where table_name = '" + name + "'");
                }
            }
            return description.lines;
        }
    }

    private void columns(String table) throws SQLException {
        query("select * from information_schema.columns where table_name = '" + table + "' and table_schema in ('"
                + connection.getSchema() + "', '" + connection.getCatalog() + "') order by ordinal_position");
    }

    private void indexes(String table) throws SQLException {
        add(connection.getMetaData().getPrimaryKeys(connection.getCatalog(), connection.getSchema(), table));
        add(connection
                .getMetaData()
                .getIndexInfo(connection.getCatalog(), connection.getSchema(), table, false, false));
    }

    private void query(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            add(statement.executeQuery(sql));
        }
    }

    private void add(ResultSet rows) throws SQLException {
        try (rows) {
            ResultSetMetaData metaData = rows.getMetaData();
            while (rows.next()) {
                StringJoiner line = new StringJoiner(", ");
                for (int column = 1; column <= metaData.getColumnCount(); column++) {
                    String label = metaData.getColumnLabel(column).toLowerCase(Locale.ROOT);
                    if (!isOfThisDatabaseOnly(label)) {
                        line.add(label + "=" + rows.getString(column));
                    }
                }
                lines.add(withUsualFlags(line.toString()));
            }
        }
    }

    /**
     * From version 5.0.4 on, Liquibase makes a {@code tinyint(1)} of each {@code bit(1)} on MySQL, but not on MariaDB
     * (https://github.com/liquibase/liquibase/pull/7708). Both are a boolean for the driver and Hibernate.
     */
    private static String withUsualFlags(String column) {
        return column.replaceFirst(
                "data_type=tinyint, (.*)numeric_precision=3, numeric_scale=0, (.*)column_type=tinyint\\(1\\)",
                "data_type=bit, $1numeric_precision=1, numeric_scale=null, $2column_type=bit(1)");
    }

    /** Names of databases, estimates, and names that H2 makes up for the index of a primary key. */
    private static boolean isOfThisDatabaseOnly(String label) {
        return label.matches(".*_(cat|catalog|schem|schema|qualifier)|cardinality|pages|index_name");
    }
}
