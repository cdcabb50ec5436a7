package example;

import io.github.holdfast.contract.LockContract;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

class OurDatabaseTest extends LockContract {

    @Override
    protected DataSource dataSource() {
        return new DriverManagerDataSource(
                System.getProperty("database.url"),
                System.getProperty("database.user"),
                System.getProperty("database.password"));
    }
}
