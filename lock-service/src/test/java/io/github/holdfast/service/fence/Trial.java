package io.github.holdfast.service.fence;

import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.fence.Hold.Trait;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManager;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * One run of a cell. A thread of one service holds and writes; another service tries to acquire the same name after the loss, and keeps
 * what it gets.
 */
final class Trial {

    static final String DDL = "create table if not exists ends_transactions (n int)";

    private static final Duration SOON = Duration.ofSeconds(60);

    private final Fixture fixture;
    private final Cell cell;
    private final String name;
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private final List<Consumer<EntityManager>> guards = new ArrayList<>();
    private @Nullable EntityManager entityManager;
    private @Nullable Connection locking;
    private @Nullable Connection writing;
    private @Nullable Savepoint savepoint;
    private Optional<LockHandle> others = Optional.empty();
    private @Nullable Throwable thrown;
    private @Nullable Verdict verdict;
    private boolean isReached;
    private boolean isOver;
    private long committedBefore;

    Trial(Fixture fixture, Cell cell, String name) {
        this.fixture = fixture;
        this.cell = cell;
        this.name = name;
    }

    /** Runs the cell on a thread that nothing else uses, because a lost hold stays bound to its thread. */
    void run() throws Exception {
        fixture.database().execute("insert into written values ('" + name + "', 0)");
        if (cell.loss().isOfSavepoint()) {
            // The savepoint may fix what the transaction sees, and it must see the row of the lock.
            fixture.theirs().tryAcquire(request()).ifPresent(LockHandle::close);
        }
        fixture.onNewThread(() -> {
            try {
                cell.commit().run(this);
            } catch (Throwable refused) {
                thrown = refused;
            } finally {
                // The end of a leadership interrupts its thread.
                Thread.interrupted();
                release();
            }
        });
        verdict = isOver ? judge() : Verdict.NOT_REACHED;
        others.ifPresent(LockHandle::close);
    }

    Verdict verdict() {
        return Objects.requireNonNull(verdict, "not run");
    }

    boolean isGranted() {
        return others.isPresent();
    }

    /** What A was told, if anything. */
    @Nullable
    Throwable thrown() {
        return thrown;
    }

    private Verdict judge() {
        boolean isWritten = committed() > committedBefore;
        if (!isWritten) {
            return thrown == null ? Verdict.VANISHED : Verdict.REFUSED;
        }
        if (others.isEmpty()) {
            return Verdict.STILL_HELD;
        }
        return Documented.isLimit(cell) ? Verdict.UNCHECKABLE : Verdict.BUG;
    }

    private long committed() {
        return fixture.database().queryForLong("select n from written where name = '" + name + "'");
    }

    private void release() {
        while (!opened.isEmpty()) {
            try {
                opened.pop().close();
            } catch (Exception ofALostLock) {
                // It is released all the same.
            }
        }
    }

    // What a way to hold needs

    LockService mine() {
        return fixture.mine();
    }

    String name() {
        return name;
    }

    LockRequest request() {
        return LockRequest.of(name);
    }

    void holds(LockHandle handle) {
        opened(handle);
        guardedBy(handle::guard);
    }

    void opened(AutoCloseable closeable) {
        opened.push(closeable);
    }

    void guardedBy(Consumer<EntityManager> guard) {
        guards.add(guard);
    }

    void lockedOnCurrentConnection() throws Exception {
        locking = work(connection -> connection);
    }

    /** Notes which connection is kept after an acquisition. */
    void lockedOnNewConnection(Work acquisition) throws Exception {
        List<Connection> before = fixture.borrowed();
        acquisition.run();
        locking = fixture.borrowed().stream()
                .filter(connection -> !before.contains(connection))
                .findFirst()
                .orElseThrow();
    }

    /** Does this on another thread. An interrupt of the calling thread does not end the wait. */
    <T> T elsewhere(Callable<T> work) {
        return onAnotherThread(work).join();
    }

    <T> CompletableFuture<T> onAnotherThread(Callable<T> work) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return work.call();
                    } catch (Exception failed) {
                        throw new CompletionException(failed);
                    }
                },
                fixture.threads());
    }

    // What a way to commit needs

    void hold(Work work) throws Exception {
        cell.hold().around(this, work);
    }

    void acquire() throws Exception {
        cell.hold().acquire(this);
    }

    /** Acquires the lock, if that is done in the transaction. */
    void inside() throws Exception {
        if (cell.loss().isOfSavepoint()) {
            savepoint = work(Connection::setSavepoint);
        }
        if (cell.hold().is(Trait.INSIDE)) {
            acquire();
        }
    }

    void transaction(int propagation, Work work) throws Exception {
        run(fixture.manager(), propagation, work);
    }

    /** In a transaction of a manager that the service does not know. */
    void otherTransaction(Work work) throws Exception {
        run(new DataSourceTransactionManager(fixture.dataSource()), TransactionTemplate.PROPAGATION_REQUIRED, work);
    }

    private void run(PlatformTransactionManager manager, int propagation, Work work) throws Exception {
        TransactionTemplate template = new TransactionTemplate(manager);
        template.setPropagationBehavior(propagation);
        template.setIsolationLevel(cell.isolation().value());
        template.executeWithoutResult(status -> {
            try {
                work.run();
            } catch (RuntimeException failed) {
                throw failed;
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            }
        });
    }

    void entityTransaction(WorkWith<EntityManager> work) throws Exception {
        try (EntityManager em = fixture.unit().createEntityManager()) {
            entityManager = em;
            em.getTransaction().begin();
            try {
                work.run(em);
                em.getTransaction().commit();
            } finally {
                if (em.getTransaction().isActive()) {
                    em.getTransaction().rollback();
                }
            }
        }
    }

    interface WorkWith<T> {
        void run(T with) throws Exception;
    }

    void guard(EntityManager em) {
        guards.forEach(guard -> guard.accept(em));
    }

    void caught(RuntimeException refused) {
        thrown = refused;
        Thread.interrupted();
    }

    void writeLoseWrite() throws Exception {
        write();
        lose();
        write();
    }

    void write() throws Exception {
        writing = work(connection -> {
            Loss.execute(connection, "update written set n = n + 1 where name = '" + name + "'");
            return connection;
        });
    }

    /** Loses the lock, once, and lets another service acquire it if it can. */
    void lose() throws Exception {
        if (isReached) {
            return;
        }
        isReached = true;
        cell.loss().act().happen(this);
        isOver = true;
        // The end of a leadership interrupts its thread.
        Thread.interrupted();
        others = elsewhere(this::tryAcquireAlone);
        committedBefore = committed();
        if (cell.loss().equals(Loss.SAVEPOINT_AND_AGAIN)) {
            acquire();
        }
    }

    /** Also empty if the other service cannot acquire anything after this loss. */
    private Optional<LockHandle> tryAcquireAlone() {
        try {
            return cell.hold().tryAcquireAlone(fixture.theirs(), name);
        } catch (LockStoreException failed) {
            return Optional.empty();
        }
    }

    private <T> T work(Use<T> use) throws Exception {
        if (entityManager != null) {
            return entityManager.unwrap(Session.class).doReturningWork(use::of);
        }
        Connection connection = DataSourceUtils.getConnection(fixture.dataSource());
        try {
            return use.of(connection);
        } finally {
            DataSourceUtils.releaseConnection(connection, fixture.dataSource());
        }
    }

    private interface Use<T> {
        T of(Connection connection) throws SQLException;
    }

    // What a way to lose needs

    TestDatabase kind() {
        return fixture.database().kind();
    }

    DataSource dataSource() {
        return fixture.database().dataSource();
    }

    /** The connection that has locked the row of the lock; if none has, that of the writes. */
    Connection victim() {
        return locking == null ? victimOfWork() : locking;
    }

    Connection victimOfWork() {
        return Objects.requireNonNull(writing, "nothing was written");
    }

    void rollBackToSavepoint() throws SQLException {
        victim().rollback(Objects.requireNonNull(savepoint, "no savepoint"));
    }

    void forceRelease() {
        if (cell.hold().is(Trait.SEMAPHORE)) {
            fixture.theirs().admin().semaphores().permits(name).forEach(permit -> {
                var unused = fixture.theirs().admin().semaphores().forceRelease(name, permit.fencingToken(), "a test");
            });
        } else {
            var unused = fixture.theirs().admin().forceRelease(name, "a test");
        }
    }

    /** Executes statements on the lock in a session of their own, which waits only briefly: a row that stays locked stays as it is. */
    void execute(String... statements) {
        String impatient = switch (kind()) {
            case POSTGRESQL -> "set lock_timeout = 300";
            case MARIADB, MYSQL -> "set lock_wait_timeout = 1, innodb_lock_wait_timeout = 1";
            default -> "set lock_timeout 300";
        };
        Stream<String> all = Stream.concat(
                Stream.of(impatient), Arrays.stream(statements).map(statement -> statement.formatted(name)));
        try {
            fixture.database().execute(all.toArray(String[]::new));
        } catch (IllegalStateException failed) {
            if (!(failed.getCause() instanceof SQLException cause) || !isTimeout(cause)) {
                throw failed;
            }
        }
    }

    private static boolean isTimeout(SQLException failed) {
        return "55P03".equals(failed.getSQLState()) || failed.getErrorCode() == 1205 || failed.getErrorCode() == 50200;
    }

    /** Ends a session, as the server does. */
    void kill(Connection connection) throws SQLException {
        long id = session(connection);
        fixture.database()
                .execute(
                        switch (kind()) {
                            case POSTGRESQL -> "select pg_terminate_backend(" + id + ")";
                            case MARIADB, MYSQL -> "kill connection " + id;
                            default -> "call abort_session(" + id + ")";
                        });
        awaitEnd(id);
    }

    /** Waits until the server has ended a session because of this setting, which may be at once. */
    void setAndAwaitEnd(Connection connection, String setting) throws SQLException {
        long id = session(connection);
        Loss.execute(connection, setting);
        awaitEnd(id);
    }

    private void awaitEnd(long id) {
        fixture.evictConnections();
        String sessions = switch (kind()) {
            case POSTGRESQL -> "pg_stat_activity where pid = ";
            case MARIADB, MYSQL -> "information_schema.processlist where id = ";
            default -> "information_schema.sessions where session_id = ";
        };
        await().pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(10))
                .atMost(SOON)
                .until(() -> fixture.database().queryForLong("select count(*) from " + sessions + id) == 0);
    }

    private long session(Connection connection) throws SQLException {
        String query = switch (kind()) {
            case POSTGRESQL -> "select pg_backend_pid()";
            case MARIADB, MYSQL -> "select connection_id()";
            default -> "select session_id()";
        };
        try (Statement statement = connection.createStatement();
                ResultSet id = statement.executeQuery(query)) {
            id.next();
            return id.getLong(1);
        }
    }
}
