package example;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import javax.sql.DataSource;

/** The documented class with a pool of ten connections. */
public class OurTenConnections extends OurDatabaseTest {

    private static HikariDataSource pool;

    /** Closes the pool of the last run. The contract itself closes no data source. */
    public static void close() {
        pool.close();
    }

    @Override
    protected DataSource dataSource() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setDataSource(super.dataSource());
        config.setMaximumPoolSize(10);
        pool = new HikariDataSource(config);
        return pool;
    }
}
