package io.github.holdfast.benchmark.contestant;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;

/** ShedLock with the database's time. ShedLock does not wait for a lock, so its users poll. Here they poll after 100 ms. */
final class ShedLock implements Contestant {

    private final LockProvider locks;

    ShedLock(HikariDataSource pool) {
        locks = new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(pool))
                .usingDbTime()
                .build());
    }

    /** Creates the table as in ShedLock's README. */
    static void createTable(Database database) {
        String timestamp = database.kind() == TestDatabase.POSTGRESQL ? "timestamp" : "timestamp(3)";
        database.execute("create table shedlock (name varchar(64) not null, lock_until " + timestamp + " not null,"
                + " locked_at " + timestamp + " not null, locked_by varchar(255) not null, primary key (name))");
    }

    @Override
    public Held acquire(String name) throws InterruptedException {
        while (true) {
            Optional<SimpleLock> lock =
                    locks.lock(new LockConfiguration(Instant.now(), name, Duration.ofSeconds(30), Duration.ZERO));
            if (lock.isPresent()) {
                return lock.get()::unlock;
            }
            TimeUnit.MILLISECONDS.sleep(100);
        }
    }

    @Override
    public void close() {}
}
