package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.LockPageRepository;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.LockAdmin.HousekeepingReport;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cleans the tables. It holds a lock of its own, so only one service cleans at a time. It ends dead nodes, frees their locks,
 * gives back the permits of dead holders, and marks the runs that died with them as lost. It deletes rows that have been idle for
 * longer than the retention. An acquisition never runs it: if a dead node holds the wanted lock, the acquisition ends that one
 * node itself. Thread-safe.
 *
 * <p>It reads candidates in pages, and locks no row while it reads. Then it locks those rows of the page that no other
 * transaction has locked. It writes a row only if the version has not changed since the read. It leaves rows in use to the next
 * run.
 */
final class Housekeeping implements AutoCloseable {

    static final String LOCK_NAME = "holdfast:housekeeping";
    static final String TURN_NAME = LOCK_NAME + " turn";

    private static final Logger LOG = LoggerFactory.getLogger(Housekeeping.class);

    private static final int PAGE = 100;
    private static final Duration STATEMENT = Duration.ofSeconds(10);

    /** The time limit for the removal of one dead holder, which waits for a transaction that protects its row. */
    private static final Duration REMOVAL = Duration.ofSeconds(1);

    private static final Duration LEASE = Duration.ofMinutes(1);
    private static final LockRun.Key FIRST_GRANT = new LockRun.Key("", 0);

    /** Every period that contains the present began after this, even the longest possible one. */
    private static final long SINCE_LONGEST_MICROS =
            -(LockRequest.LONGEST_DURATION.plusDays(1).toNanos() / 1000);

    private static final LockRequest REQUEST =
            LockRequest.of(LOCK_NAME).lease(LEASE).notReentrant().withoutFence();
    private static final LockRequest TURN =
            LockRequest.of(TURN_NAME).lease(LEASE).notReentrant().withoutFence();

    private final Locks locks;
    private final LockEngine engine;
    private final Duration retention;
    private final Duration lockDelay;
    private final Duration clockTolerance;
    private final @Nullable Duration period;
    private ScheduledExecutorService thread;

    Housekeeping(Locks locks, LockEngine engine, ServiceSettings settings) {
        this.locks = locks;
        this.engine = engine;
        this.retention = settings.retention();
        this.lockDelay = settings.lockDelay();
        this.clockTolerance = settings.clockTolerance();
        this.period = settings.housekeepingPeriod();
        thread = schedule();
    }

    /** Schedules the work. The first delay is random, so that services that start together do not run it together. */
    private ScheduledExecutorService schedule() {
        ScheduledExecutorService scheduled = engine.scheduler("holdfast-housekeeping");
        if (period != null) {
            long nanos = period.toNanos();
            long first = ThreadLocalRandom.current().nextLong(nanos / 2, nanos + 1);
            var unused = scheduled.scheduleWithFixedDelay(
                    () -> runInTurn(period.dividedBy(2)), first, nanos, TimeUnit.NANOSECONDS);
        }
        return scheduled;
    }

    /** Schedules the work again after a close. */
    synchronized void reopen() {
        if (thread.isShutdown()) {
            thread = schedule();
        }
    }

    /**
     * Does the work if this service gets the turn. The turn is a lock with a minimum hold: it is released at once, but no other
     * service gets it for that time.
     */
    private void runInTurn(Duration atMostEvery) {
        try {
            Optional<LockHandle> turn = locks.tryAcquire(TURN.minimumHold(atMostEvery));
            turn.ifPresent(LockHandle::close);
            if (turn.isPresent()) {
                locks.tryAcquire(REQUEST).ifPresent(lock -> {
                    try (lock) {
                        LogEvent.HOUSEKEEPING_DONE.in(LOG.atDebug()).log("Cleaned the lock tables: {}", tidyUp(lock));
                    }
                });
            }
        } catch (LockStoreException failed) {
            LogEvent.HOUSEKEEPING_FAILED
                    .in(LOG.atWarn())
                    .log(
                            "Housekeeping failed (check that the connection goes to the primary, and may write): {}",
                            failed.getMessage());
            LOG.debug("Housekeeping failed", failed);
        } catch (RuntimeException | Error failed) {
            LogEvent.HOUSEKEEPING_FAILED.in(LOG.atWarn()).setCause(failed).log("Housekeeping failed");
        }
    }

    /** See {@link LockAdmin#housekeep}. */
    HousekeepingReport run() throws InterruptedException {
        return locks.call(REQUEST, this::tidyUp);
    }

    private HousekeepingReport tidyUp(LockHandle lock) {
        try {
            int ended = pages(lock, "", this::overdueNodes, Function.identity(), this::endNodes);
            int freed = pages(lock, "", this::orphans, LockEntity::name, page -> batch(page, this::free));
            int holdersRemoved =
                    pages(lock, FIRST_GRANT, this::deadHolders, Housekeeping::key, page -> removeHolders(lock, page));
            LOG.debug("Gave back the permits of {} dead holders", holdersRemoved);
            int purged = pages(lock, "", this::idle, LockEntity::name, page -> batch(page, table()::purge));
            int waitersPurged = orNextTime(table()::purgeWaiters);
            LOG.debug("Deleted {} waiters of dead nodes", waitersPurged);
            int nodesPurged = pages(lock, "", this::idleNodes, Function.identity(), this::purgeNodes);
            int runsLost = pages(lock, FIRST_GRANT, this::abandonedRuns, Housekeeping::key, this::loseRuns);
            int runsPurged = pages(lock, FIRST_GRANT, this::oldRuns, Housekeeping::key, this::purgeRuns);
            return new HousekeepingReport(ended, freed, purged, nodesPurged, runsLost, runsPurged);
        } catch (StoreException failed) {
            throw new LockStoreException("Housekeeping did not finish", failed);
        }
    }

    /** The present one: a service that is opened again has another store. */
    private LockStore store() {
        return engine.store();
    }

    private LockPageRepository table() {
        return store().pages();
    }

    private List<String> overdueNodes(String after) {
        return table().overdueNodes(after, overdueMicros(), PAGE);
    }

    private List<LockEntity> orphans(String after) {
        return table().orphans(after, overdueMicros(), PAGE);
    }

    private int free(List<String> names) {
        return table().takeFromHolder(names, lockDelay.toNanos() / 1000);
    }

    private List<LockEntity> idle(String after) {
        return table().idle(after, sinceMicros(), PAGE);
    }

    private long overdueMicros() {
        return -(clockTolerance.toNanos() / 1000);
    }

    private long sinceMicros() {
        return -(retention.toNanos() / 1000);
    }

    private List<String> idleNodes(String after) {
        return table().idleNodes(after, sinceMicros(), PAGE);
    }

    private int endNodes(List<String> ids) {
        int ended = 0;
        for (String id : ids) {
            ended += decided(() -> engine.endIfDead(id)) ? 1 : 0;
        }
        return ended;
    }

    private int purgeNodes(List<String> ids) {
        return decided(() -> {
            Set<String> unnamed = new HashSet<>(ids);
            table().named(ids).forEach(unnamed::remove);
            return unnamed.isEmpty() ? 0 : table().purgeNodes(List.copyOf(unnamed));
        });
    }

    private List<LockHolder> deadHolders(LockRun.Key after) {
        return store().permits().dead(clockTolerance, after.name(), after.fencingToken(), PAGE);
    }

    private int removeHolders(LockHandle lock, List<LockHolder> dead) {
        int removed = 0;
        for (LockHolder holder : dead) {
            lock.ensureValidFor(REMOVAL);
            removed += orNextTime(REMOVAL, () -> store().permits().removeDead(holder, clockTolerance) ? 1 : 0);
        }
        return removed;
    }

    private static LockRun.Key key(LockHolder holder) {
        return new LockRun.Key(holder.name(), holder.fencingToken());
    }

    private static LockRun.Key key(LockRun run) {
        return new LockRun.Key(run.name(), run.fencingToken());
    }

    private List<LockRun> abandonedRuns(LockRun.Key after) {
        long graceMicros = -STATEMENT.plus(clockTolerance).toNanos() / 1000;
        return store().runs().abandoned(after.name(), after.fencingToken(), graceMicros, PAGE);
    }

    private int loseRuns(List<LockRun> runs) {
        List<LockRun> lost = new ArrayList<>();
        int count = orNextTime(() -> {
            lost.clear();
            runs.stream()
                    .filter(run -> store().runs().lose(run.name(), run.fencingToken(), null))
                    .forEach(lost::add);
            return lost.size();
        });
        if (count > 0) {
            lost.forEach(run -> LogEvent.runLost(LOG, run.name(), run.fencingToken()));
        }
        return count;
    }

    private List<LockRun> oldRuns(LockRun.Key after) {
        return store().runs().old(sinceMicros(), SINCE_LONGEST_MICROS, after.name(), after.fencingToken(), PAGE);
    }

    private int purgeRuns(List<LockRun> runs) {
        Map<String, List<Long>> tokens = runs.stream()
                .collect(Collectors.groupingBy(
                        LockRun::name, Collectors.mapping(LockRun::fencingToken, Collectors.toList())));
        return orNextTime(() -> tokens.entrySet().stream()
                .mapToInt(ofName -> store().runs().purge(ofName.getKey(), ofName.getValue()))
                .sum());
    }

    /** Reads all candidates, page by page, and processes each page. Returns the number of changed candidates. */
    private <T, K> int pages(
            LockHandle lock,
            K first,
            Function<K, List<T>> candidates,
            Function<T, K> key,
            ToIntFunction<List<T>> work) {
        int done = 0;
        List<T> page;
        K after = first;
        do {
            lock.ensureValidFor(STATEMENT);
            K from = after;
            page = decided(() -> candidates.apply(from));
            if (!page.isEmpty()) {
                after = key.apply(page.get(page.size() - 1));
                done += work.applyAsInt(page);
            }
        } while (page.size() == PAGE);
        return done;
    }

    private <T> T decided(Supplier<T> work) {
        return engine.untilDecided(STATEMENT, () -> store().inTransaction(STATEMENT, work));
    }

    private int batch(List<LockEntity> candidates, ToIntFunction<List<String>> work) {
        Map<String, Long> versions =
                candidates.stream().collect(Collectors.toMap(LockEntity::name, LockEntity::version));
        return orNextTime(() -> {
            List<String> unchanged = table().lockUnlockedRows(List.copyOf(versions.keySet())).stream()
                    .filter(row -> row.version() == versions.getOrDefault(row.name(), -1L))
                    .map(LockEntity::name)
                    .toList();
            return unchanged.isEmpty() ? 0 : work.applyAsInt(unchanged);
        });
    }

    private int orNextTime(Supplier<Integer> work) {
        return orNextTime(STATEMENT, work);
    }

    private int orNextTime(Duration limit, Supplier<Integer> work) {
        try {
            return store().inTransaction(limit, work);
        } catch (StoreException failed) {
            if (!failed.failure().isTransient()) {
                throw failed;
            }
            LOG.debug("A batch of rows was in use, and is left to the next run", failed);
            return 0;
        }
    }

    /** Stops the schedule. Work in progress continues until its next batch. */
    @Override
    public synchronized void close() {
        thread.shutdown();
    }
}
