package example.quickstart;

import io.github.holdfast.repository.LockSchema;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.h2.jdbcx.JdbcConnectionPool;

/** The tables, for the process that creates and reads them. It uses plain JDBC, so that it starts quickly. */
final class Shop implements AutoCloseable {

    static final String LAMP = "lamp";

    private final JdbcConnectionPool pool;

    private Shop(JdbcConnectionPool pool) {
        this.pool = pool;
    }

    /** Creates all tables, including those of the locks. A real application would use Liquibase or Flyway. */
    static Shop create(String url) throws SQLException {
        Shop shop = new Shop(JdbcConnectionPool.create(url, "", ""));
        shop.execute("runscript from 'classpath:shop.sql'");
        LockSchema.on(shop.pool).createIfMissing();
        return shop;
    }

    /** Puts this many lamps into stock, and deletes earlier sales. */
    void stockUp(int lamps) throws SQLException {
        execute("delete from sale");
        execute("merge into item (name, stock) values ('" + LAMP + "', " + lamps + ")");
    }

    /** Reads the current result from the tables. */
    Books books(int stockedUp) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            ResultSet item = statement.executeQuery("select stock from item");
            item.next();
            int left = item.getInt(1);
            List<Sale> sales = new ArrayList<>();
            ResultSet sale =
                    statement.executeQuery("select worker, fencing_token, waited_millis from sale order by id");
            while (sale.next()) {
                Duration waited = Duration.ofMillis(sale.getLong(3));
                sales.add(new Sale(sale.getString(1), sale.getObject(2, Long.class), waited));
            }
            return new Books(stockedUp, left, sales);
        }
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** Closes the database, even if a worker that has just ended still seems to be connected. */
    @Override
    public void close() throws SQLException {
        execute("shutdown");
        pool.dispose();
    }
}
