package example.derby;

import io.github.holdfast.contract.LockContract;
import java.util.Map;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** The contract of a database's locks, on a database that Holdfast itself does not know. */
@Tag("long")
class DerbyContractTest extends LockContract {

    @Override
    protected DataSource dataSource() {
        return new DriverManagerDataSource("jdbc:derby:memory:locks;create=true");
    }

    @Override
    protected Map<String, String> properties() {
        return Map.of("hibernate.dialect", RowLockingDerbyDialect.class.getName());
    }

    @Override
    protected boolean hasRowLocks() {
        return false;
    }
}
