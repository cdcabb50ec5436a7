package io.github.holdfast.service.fence;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.Services;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.hibernate.cfg.AvailableSettings;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;

/** Two services on one database, each with a persistence unit of its own. */
final class Fixture implements AutoCloseable {

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final ThreadLocal<List<Connection>> borrowed = ThreadLocal.withInitial(ArrayList::new);
    private final Database database;
    private final Services services;
    private final HikariDataSource pool;
    private final DataSource dataSource;
    private final EntityManagerFactory unit;
    private final JpaTransactionManager manager;
    private final LockService theirs;
    private LockService mine;
    private int trials;

    Fixture(Database database) {
        this.database = database;
        services = Services.on(database);
        database.execute(
                "create table written (name varchar(100) primary key, n bigint not null)",
                "create table deadlocked (id int primary key, n bigint not null)",
                "insert into deadlocked values "
                        + IntStream.rangeClosed(1, 40)
                                .mapToObj(id -> "(" + id + ", 0)")
                                .collect(Collectors.joining(", ")),
                Trial.DDL);
        pool = database.kind() == TestDatabase.H2_MEMORY
                ? services.opened(database.pool(config -> {}))
                : services.patientPoolOver(database.dataSource());
        dataSource = new DelegatingDataSource(pool) {
            @Override
            public Connection getConnection() throws SQLException {
                Connection connection = super.getConnection();
                borrowed.get().add(connection);
                return connection;
            }
        };
        // As Spring's HibernateJpaVendorAdapter sets it: without, transactions cannot have an isolation level of their
        // own.
        unit = services.unit(dataSource, Map.of(AvailableSettings.CONNECTION_HANDLING, "DELAYED_ACQUISITION_AND_HOLD"));
        manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        manager.setDataSource(dataSource);
        theirs = services.build(database.pool(this::impatient), builder -> builder.withoutHousekeeping());
        mine = newService();
    }

    /** Lets an acquisition wait only briefly for a row that a transaction has locked. */
    private void impatient(HikariConfig config) {
        config.setConnectionInitSql(
                switch (database.kind()) {
                    case POSTGRESQL -> "set lock_timeout = 300";
                    case MARIADB, MYSQL -> "set lock_wait_timeout = 1, innodb_lock_wait_timeout = 1";
                    default -> "set lock_timeout 100";
                });
    }

    private LockService newService() {
        // Services keeps each closed service until its own end, and all cells need a thousand of them.
        return LockService.builder(unit)
                .transactionManager(manager)
                .withoutHousekeeping()
                .build();
    }

    /** Runs a cell, and leaves a service that works. */
    Trial run(Cell cell) throws Exception {
        Trial trial = new Trial(this, cell, "lock " + trials++);
        try {
            trial.run();
        } finally {
            if (cell.loss().isOfService() || cell.hold() == Hold.DROPPED_ROW_LOCK) {
                mine.close();
                mine = newService();
            }
        }
        return trial;
    }

    Database database() {
        return database;
    }

    DataSource dataSource() {
        return dataSource;
    }

    EntityManagerFactory unit() {
        return unit;
    }

    JpaTransactionManager manager() {
        return manager;
    }

    LockService mine() {
        return mine;
    }

    LockService theirs() {
        return theirs;
    }

    ExecutorService threads() {
        return threads;
    }

    /** The connections that the calling thread has taken from the pool and not given back. */
    List<Connection> borrowed() {
        borrowed.get().removeIf(Fixture::isClosed);
        return List.copyOf(borrowed.get());
    }

    private static boolean isClosed(Connection connection) {
        try {
            return connection.isClosed();
        } catch (SQLException broken) {
            return true;
        }
    }

    /** Or the pool would hand out a session that was killed: it does not check one that was in use just now. */
    void evictConnections() {
        pool.getHikariPoolMXBean().softEvictConnections();
    }

    void onNewThread(Runnable work) throws InterruptedException {
        Thread thread = new Thread(work, "A");
        thread.start();
        thread.join();
    }

    @Override
    public void close() throws Exception {
        threads.shutdownNow();
        mine.close();
        services.close();
    }
}
