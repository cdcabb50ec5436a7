package io.github.holdfast.test;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;

/**
 * A pool over connections that can break. While the database is down, a caller waits for the connection timeout. Otherwise it goes on
 * waiting, because a busy machine may need many seconds to connect.
 */
final class PatientPool extends HikariDataSource {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final FaultyDataSource faults;

    PatientPool(HikariConfig config, FaultyDataSource faults) {
        super(config);
        this.faults = faults;
    }

    @Override
    public Connection getConnection() throws SQLException {
        long start = System.nanoTime();
        while (true) {
            try {
                return super.getConnection();
            } catch (SQLTransientConnectionException noneInTime) {
                if (faults.isDown() || isClosed() || System.nanoTime() - start > PATIENCE.toNanos()) {
                    throw noneInTime;
                }
            }
        }
    }
}
