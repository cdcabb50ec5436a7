package io.github.holdfast.benchmark.contestant;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The minimum of a lock in a table: one update to acquire, and one to release, each with its own commit. The threads of a node
 * queue in memory, and the first of them polls again after 5 to 15 ms. It has no fencing, no re-entry and no recovery.
 */
public final class Floor implements Contestant {

    private final HikariDataSource pool;
    private final String acquire;
    private final Map<String, ReentrantLock> queues = new ConcurrentHashMap<>();

    public Floor(TestDatabase kind, HikariDataSource pool) {
        this.pool = pool;
        acquire = "update floor_lock set owner = ?, held_until = " + later(kind)
                + " where name = ? and (owner is null or held_until < " + now(kind) + ")";
    }

    public static void createTable(Database database) {
        database.execute(
                "create table floor_lock (name varchar(255) primary key, owner varchar(64), held_until timestamp(6))");
    }

    private static String now(TestDatabase kind) {
        return kind == TestDatabase.POSTGRESQL ? "clock_timestamp()" : "localtimestamp(6)";
    }

    private static String later(TestDatabase kind) {
        return now(kind) + (kind == TestDatabase.POSTGRESQL ? " + interval '30 seconds'" : " + interval '30' second");
    }

    @Override
    public Held acquire(String name) throws Exception {
        ReentrantLock queue = queues.computeIfAbsent(name, this::create);
        queue.lock();
        String owner = UUID.randomUUID().toString();
        while (update(acquire, owner, name) == 0) {
            TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextInt(5_000, 15_000));
        }
        return () -> {
            update("update floor_lock set owner = null where owner = ? and name = ?", owner, name);
            queue.unlock();
        };
    }

    private ReentrantLock create(String name) {
        try (Connection connection = pool.getConnection();
                PreparedStatement insert = connection.prepareStatement(
                        "insert into floor_lock (name, owner, held_until) values (?, null, null)")) {
            insert.setString(1, name);
            insert.executeUpdate();
        } catch (SQLException anotherNodeWasFaster) {
            // The row exists, because another node was faster.
        }
        return new ReentrantLock(true);
    }

    private int update(String sql, String owner, String name) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement update = connection.prepareStatement(sql)) {
            update.setString(1, owner);
            update.setString(2, name);
            return update.executeUpdate();
        }
    }

    @Override
    public void close() {}
}
