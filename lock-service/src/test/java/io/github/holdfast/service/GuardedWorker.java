package io.github.holdfast.service;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.service.GuardedWork.Figures;
import io.github.holdfast.service.engine.wait.Pauses;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.support.DataAccessUtils;
import org.springframework.dao.support.PersistenceExceptionTranslator;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;

/**
 * A process that posts to the {@link Ledger}, each time in one transaction under the lock, and tries again what was not
 * committed. Before it begins, and when it was told to {@code stop} between its next read and write, it waits until it is told
 * to {@code go}.
 */
final class GuardedWorker {

    private static final ExecutorService WORKING = Executors.newSingleThreadExecutor(Daemons.named("working"));
    private static final Semaphore GO = new Semaphore(0);
    private static final PersistenceExceptionTranslator AS_AT_COMMIT = new HibernateJpaDialect();
    private static volatile boolean isToStop;

    private final GuardedWork work;
    private final Bookkeeper books;
    private Figures figures = new Figures(0, 0, 0, 0);

    private GuardedWorker(GuardedWork work, Bookkeeper books) {
        this.work = work;
        this.books = books;
    }

    /** Arguments: URL, user, password. */
    public static void main(String[] args) throws Exception {
        JavaProcess.commands(line -> {
            switch (line) {
                case "stop" -> isToStop = true;
                case "go" -> GO.release();
                default -> WORKING.execute(() -> work(args, GuardedWork.of(line)));
            }
        });
        Thread.currentThread().join();
    }

    private static void work(String[] args, GuardedWork work) {
        try (HikariDataSource pool = pool(args, work.isolation());
                Bookkeeper books = Bookkeeper.on(pool, builder -> builder.nodeLease(GuardedWork.NODE_LEASE))) {
            tellAndWait("ready");
            GuardedWorker worker = new GuardedWorker(work, books);
            worker.work();
            tell(worker.figures.line());
        } catch (RuntimeException failed) {
            failed.printStackTrace();
            Runtime.getRuntime().halt(3);
        }
    }

    private static HikariDataSource pool(String[] args, Isolation isolation) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        config.setMaximumPoolSize(5);
        config.setMinimumIdle(1);
        isolation.set(config);
        return new HikariDataSource(config);
    }

    private void work() {
        while (figures.commits() < work.commits()) {
            if (figures.commits() % 10 == 0) {
                // Longer than the other one pauses between two looks: else the lock would hardly ever change hands.
                LockSupport.parkNanos(Pauses.LONGEST.plusMillis(10).toNanos());
            }
            try {
                attempt();
            } catch (LockLostException lost) {
                add(new Figures(0, 1, 0, 0));
            } catch (LockNotAcquiredException | LockStoreException failed) {
                add(new Figures(0, 0, 1, 0));
            } catch (ConcurrencyFailureException conflict) {
                add(new Figures(0, 0, 0, 1));
            }
        }
    }

    private void attempt() {
        switch (work.acquire()) {
            case BEFORE_THE_TRANSACTION -> underLock(lock -> inTransaction(em -> post(em, lock)));
            case INSIDE -> inTransaction(em -> underLock(lock -> post(em, lock)));
            case BEFORE_AND_INSIDE -> underLock(outer -> inTransaction(em -> underLock(lock -> post(em, lock))));
        }
    }

    private void underLock(Consumer<LockHandle> action) {
        books.underLock(work.request(), action);
    }

    private void inTransaction(Consumer<EntityManager> action) {
        books.inTransaction(action);
        // Whatever the release throws, this was acknowledged.
        add(new Figures(1, 0, 0, 0));
    }

    /** Who lost the lease before the flush is told so there, and not at the commit, by the database that reads from a snapshot. */
    private static void post(EntityManager em, LockHandle lock) {
        try {
            Ledger.post(em, lock.fencingToken(), () -> stopIfTold(lock));
        } catch (PersistenceException failed) {
            throw DataAccessUtils.translateIfNecessary(failed, AS_AT_COMMIT);
        }
    }

    private static void stopIfTold(LockHandle lock) {
        if (isToStop) {
            isToStop = false;
            tellAndWait("between " + lock.fencingToken());
        }
    }

    private void add(Figures more) {
        figures = figures.plus(more);
    }

    private static void tellAndWait(String line) {
        tell(line);
        GO.acquireUninterruptibly();
    }

    private static void tell(String line) {
        System.out.println(line);
    }
}
