package io.github.holdfast.service;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A process with one lock service that does what its standard input says and tells on its standard output what it sees.
 * When it is asked to end (SIGTERM) it closes the service.
 */
public final class NodeWorker {

    /** How a holder looks whether it still holds the lock. */
    enum Look {
        STATE(true) {
            @Override
            String at(LockHandle lock, Duration nodeLease) {
                return lock.state().name();
            }
        },
        ENSURE(true) {
            @Override
            String at(LockHandle lock, Duration nodeLease) {
                lock.ensureValidFor(nodeLease.dividedBy(20));
                return LockState.HELD.name();
            }
        },
        RENEW(false) {
            @Override
            String at(LockHandle lock, Duration nodeLease) {
                lock.renew(nodeLease);
                return LockState.HELD.name();
            }
        },
        RELEASE(false) {
            @Override
            String at(LockHandle lock, Duration nodeLease) {
                return lock.release().name();
            }
        };

        /**
         * Whether it is looked all the time. The others write: a holder that is stopped between a write and its commit would
         * keep the row from everybody until it goes on.
         */
        private final boolean isCheap;

        Look(boolean isCheap) {
            this.isCheap = isCheap;
        }

        abstract String at(LockHandle lock, Duration nodeLease);

        private String tell(LockHandle lock, Duration nodeLease) {
            try {
                return at(lock, nodeLease);
            } catch (LockLostException lost) {
                return LockState.LOST.name();
            } catch (RuntimeException failed) {
                return failed.toString();
            }
        }
    }

    private final LockService locks;
    private final Duration nodeLease;
    private final Map<String, LockHandle> queued = new ConcurrentHashMap<>();
    private final ExecutorService threads = Executors.newCachedThreadPool(Daemons.named("worker"));

    private NodeWorker(LockService locks, Duration nodeLease) {
        this.locks = locks;
        this.nodeLease = nodeLease;
    }

    public static JavaProcess start(Database database, Duration nodeLease, String... options)
            throws InterruptedException {
        JavaProcess worker = JavaProcess.of(NodeWorker.class)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .args(database.url(), database.user(), database.password(), String.valueOf(nodeLease.toMillis()))
                .args(options)
                .start();
        worker.awaitLine("ready"::equals, JavaProcess.LONGEST_START);
        return worker;
    }

    /** Arguments: URL, user, password, the node's lease in milliseconds, options. */
    public static void main(String[] args) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        config.setMaximumPoolSize(25);
        config.setMinimumIdle(2);
        Duration nodeLease = ofMillis(Long.parseLong(args[3]));
        EntityManagerFactory unit = PersistenceUnit.directlyOn(new HikariDataSource(config), Map.of());
        LockServiceBuilder builder =
                LockService.builder(unit).nodeLease(nodeLease).withoutHousekeeping();
        LockService locks = builder.build();
        Runtime.getRuntime().addShutdownHook(new Thread(locks::close));
        NodeWorker worker = new NodeWorker(locks, nodeLease);
        JavaProcess.commands(line -> worker.threads.execute(() -> worker.obey(line.split(" "))));
        tell("ready");
        Thread.currentThread().join();
    }

    private void obey(String[] command) {
        try {
            switch (command[0]) {
                case "hold" -> hold(command[1]);
                case "take" -> take(command[1]);
                case "run" -> run(command[1]);
                case "queue" -> queue(command[1], ofMillis(Long.parseLong(command[2])));
                case "free" -> free(command[1]);
                case "watch" -> watch(command[1], Look.valueOf(command[2]));
                default -> throw new IllegalArgumentException(command[0]);
            }
        } catch (Exception failed) {
            tell("failed " + command[1] + " " + failed);
        }
    }

    private void hold(String name) throws InterruptedException {
        tellGranted("holding", locks.acquire(LockRequest.of(name)));
    }

    /** Waits for the lock as a fair request, and keeps it until it is told to free it. */
    private void queue(String name, Duration atMost) throws InterruptedException {
        try {
            LockHandle lock = locks.acquire(LockRequest.of(name).fair().waitAtMost(atMost));
            queued.put(name, lock);
            tellGranted("granted", lock);
        } catch (LockNotAcquiredException refused) {
            tell("refused " + name);
        }
    }

    private void free(String name) {
        tell("freed " + name + " " + Objects.requireNonNull(queued.remove(name)).release());
    }

    private void take(String name) {
        tell("begun " + name);
        answer(name).ifPresentOrElse(lock -> tellGranted("took", lock), () -> tell("refused " + name));
    }

    /** Asks again while another transaction has the row locked for longer than a statement may take. */
    private Optional<LockHandle> answer(String name) {
        while (true) {
            try {
                return locks.tryAcquire(LockRequest.of(name).lease(ofSeconds(60)));
            } catch (LockStoreException failed) {
                if (!(failed.getCause() instanceof StoreException cause && cause.failure() == Failure.BUSY)) {
                    throw failed;
                }
            }
        }
    }

    /** Runs a task for as long as the process lives. */
    private void run(String name) throws InterruptedException {
        locks.task(TaskRequest.of(name).every(ofDays(365))).runIfDue(lock -> {
            tell("running " + name);
            Thread.currentThread().join();
        });
    }

    private static void tellGranted(String what, LockHandle lock) {
        tell(what + " " + lock.name() + " " + lock.fencingToken());
    }

    /**
     * Holds the lock and looks until the process ends. Tells each change, and the first look that began after a pause of
     * the whole process. A pause inside a look proves nothing: it may come after the last instruction that could notice.
     */
    private void watch(String name, Look look) throws InterruptedException {
        LockHandle lock = locks.acquire(LockRequest.of(name));
        tellGranted("holding", lock);
        String last = "";
        boolean isFirst = false;
        long lookedAt = System.nanoTime();
        while (true) {
            long start = System.nanoTime();
            isFirst |= isPause(start - lookedAt);
            lookedAt = start;
            if (look.isCheap || isFirst) {
                String seen = look.tell(lock, nodeLease);
                lookedAt = System.nanoTime();
                if (isFirst || !seen.equals(last)) {
                    tell((isFirst ? "first " : "then ") + name + " " + seen);
                }
                last = seen;
                isFirst = isPause(lookedAt - start);
            }
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(100));
        }
    }

    private boolean isPause(long nanos) {
        return nanos > nodeLease.multipliedBy(2).toNanos();
    }

    private static void tell(String line) {
        System.out.println(line);
    }
}
