package io.github.holdfast.service;

import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.store.JpaTables;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.repository.store.TestTables;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Lock services on one database, each with a persistence unit of its own, as if in a process of its own. */
public final class Services implements TestServices {

    private final Database database;
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private @Nullable TestTables tables;
    private final FaultyDataSource breakable;

    private Services(Database database) {
        this.database = database;
        breakable = new FaultyDataSource(database.dataSource());
        LockSchema.on(database.dataSource()).createIfMissing();
    }

    public static Services on(Database database) {
        return new Services(database);
    }

    /** Removes what other tests have left: all locks, with their nodes, holders and waiters. */
    public static void emptyTables(Database database) {
        database.execute(
                "delete from distributed_lock",
                "delete from lock_node",
                "delete from lock_holder",
                "delete from lock_run",
                "delete from lock_waiter");
    }

    /** Gives the application's own table {@code stock} its only row, which shows 0. Creates the table if it is missing. */
    static void resetStock(Database database) {
        if (database.queryForLong("select count(*) from information_schema.tables where lower(table_name) = 'stock'")
                == 0) {
            database.execute("create table stock (id int primary key, n bigint not null)");
        }
        database.execute("delete from stock", "insert into stock values (1, 0)");
    }

    /** The threads of all services in this JVM. */
    public static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-"))
                .collect(Collectors.toSet());
    }

    /**
     * Acquires for a short time. The lease must not be over before the database has answered, which takes long on a busy machine. Then
     * it is acquired for longer.
     */
    static LockHandle acquireBriefly(LockService service, LockRequest request) throws InterruptedException {
        Duration lease = Duration.ofMillis(100);
        while (true) {
            try {
                return service.acquire(request.lease(lease));
            } catch (LockLostException over) {
                if (lease.toSeconds() > 60) {
                    throw over;
                }
                lease = lease.multipliedBy(2);
            }
        }
    }

    /** A service with a pool of ten connections. */
    @Override
    public LockService open() {
        return open(config -> {});
    }

    public LockService open(Consumer<HikariConfig> pool) {
        return build(pool, builder -> builder);
    }

    /** A service on a pool over a data source that may be down for long. */
    public LockService openOver(FaultyDataSource source) {
        return build(poolOver(source), builder -> builder);
    }

    /** A service on a pool over a data source to which one can connect, such as one that breaks connections. */
    public LockService patientlyOpenOver(DataSource source) {
        return build(patientPoolOver(source), builder -> builder);
    }

    /** A service with a pool of ten connections and other settings. */
    @Override
    public LockService build(UnaryOperator<LockServiceBuilder> settings) {
        return build(config -> {}, settings);
    }

    /** Nothing is checked for it if its persistence unit was used for another one before. */
    private LockService build(Consumer<HikariConfig> pool, UnaryOperator<LockServiceBuilder> settings) {
        PersistenceUnit unit = persistenceUnit(opened(database.pool(pool)), Map.of());
        return build(unit.factory(), builder -> settings.apply(builder.store(unit::store)));
    }

    @Override
    public LockService buildBreakable(UnaryOperator<LockServiceBuilder> settings) {
        return build(poolOver(breakable), settings);
    }

    @Override
    public void refuseConnections(boolean refused) {
        if (refused) {
            breakable.down();
        } else {
            breakable.up();
        }
    }

    @Override
    public synchronized TestTables tables() {
        if (tables == null) {
            tables = new JpaTables(unit(opened(database.pool(pool -> pool.setMaximumPoolSize(1)))));
        }
        return tables;
    }

    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    @Override
    public void awaitOver(LockHandle lock) {
        await().atMost(lock.remaining().plusSeconds(60)).until(() -> lock.state() == LockState.LOST);
    }

    /** That time has passed for a database is the same as if all instants in its tables were earlier. */
    @Override
    public void passInDatabase(Duration time) {
        String earlier = " - interval '" + time.toSeconds() + "' second";
        database.execute(
                "update distributed_lock set expires_at = expires_at" + earlier,
                "update lock_node set expires_at = expires_at" + earlier);
    }

    /** A service with a pool of its own, which is checked for it. */
    public LockService build(DataSource dataSource, UnaryOperator<LockServiceBuilder> settings) {
        return build(unit(dataSource), settings);
    }

    public LockService build(EntityManagerFactory unit, UnaryOperator<LockServiceBuilder> settings) {
        return opened(settings.apply(LockService.builder(unit).accept(DatabaseRisk.UNFLUSHED_COMMITS))
                .build());
    }

    /** Changes the settings of a service in a way that no method of its builder can. */
    public static LockServiceBuilder adjusted(LockServiceBuilder builder, UnaryOperator<ServiceSettings> settings) {
        return builder.adjusted(settings);
    }

    /** A pool over a data source that may be down for long. Then, and only then, a caller waits for a second. */
    public HikariDataSource poolOver(FaultyDataSource faults) {
        return poolOver(faults, faults);
    }

    /** The same, if something else is between them. */
    public HikariDataSource poolOver(DataSource source, FaultyDataSource faults) {
        return opened(database.pool(source, faults, pool -> {
            pool.setConnectionTimeout(1000);
            pool.setMaximumPoolSize(5);
        }));
    }

    /** A pool over a data source to which one can connect, in the time that a loaded machine takes to connect to PostgreSQL. */
    public HikariDataSource patientPoolOver(DataSource source) {
        return opened(database.pool(pool -> {
            pool.setDataSource(source);
            pool.setConnectionTimeout(60_000);
            pool.setMaximumPoolSize(5);
        }));
    }

    public EntityManagerFactory unit(DataSource dataSource) {
        return unit(dataSource, Map.of());
    }

    public EntityManagerFactory unit(DataSource dataSource, Map<String, String> properties) {
        return persistenceUnit(dataSource, properties).factory();
    }

    private PersistenceUnit persistenceUnit(DataSource dataSource, Map<String, String> properties) {
        return opened(PersistenceUnit.on(database.kind(), dataSource, properties));
    }

    /** Has this closed too, before what was opened earlier. */
    public <T extends AutoCloseable> T opened(T closeable) {
        opened.push(closeable);
        return closeable;
    }

    /** Closes all services, the last one first. */
    @Override
    public void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
