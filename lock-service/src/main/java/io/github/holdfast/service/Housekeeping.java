package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.LockTableRepository;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
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
 * Tidies the tables up, under a lock of its own, so that one service does it at a time: ends dead nodes, frees what they
 * held, finds the runs that died with them, and purges rows that have been idle for longer than the retention. Never part of
 * an acquisition: a taker ends the one node that stands in its way itself. Thread-safe.
 *
 * <p>Candidates are read in pages without locking a row. Those of a page that nobody has locked are then locked, and
 * written if their version is still that of the page: what is in use is passed over, and seen again the next time.
 */
final class Housekeeping implements AutoCloseable {

    static final String LOCK_NAME = "holdfast:housekeeping";
    static final String TURN_NAME = LOCK_NAME + " turn";

    private static final Logger LOG = LoggerFactory.getLogger(Housekeeping.class);

    private static final int PAGE = 100;
    private static final Duration STATEMENT = Duration.ofSeconds(10);
    private static final Duration LEASE = Duration.ofMinutes(1);
    private static final LockRun.Key FIRST_RUN = new LockRun.Key("", 0);

    /** A period that contains now began after this, however long it is. */
    private static final long SINCE_LONGEST_MICROS =
            -(LockRequest.LONGEST_DURATION.plusDays(1).toNanos() / 1000);

    private static final LockRequest REQUEST =
            LockRequest.of(LOCK_NAME).lease(LEASE).notReentrant().withoutFence();
    private static final LockRequest TURN =
            LockRequest.of(TURN_NAME).lease(LEASE).notReentrant().withoutFence();

    private final LockService locks;
    private final LockStore store;
    private final Duration retention;
    private final Duration lockDelay;
    private final Duration clockTolerance;
    private final Ticker ticker;
    private final ScheduledExecutorService thread;

    Housekeeping(LockService locks, LockStore store, ServiceSettings settings) {
        this.locks = locks;
        this.store = store;
        this.retention = settings.retention();
        this.lockDelay = settings.lockDelay();
        this.clockTolerance = settings.clockTolerance();
        this.ticker = settings.ticker();
        thread = new ScheduledThreadPoolExecutor(1, Daemons.named("holdfast-housekeeping"));
        schedule(settings.housekeepingPeriod());
    }

    /** Services that were started together do not come together. */
    private void schedule(@Nullable Duration period) {
        if (period != null) {
            long nanos = period.toNanos();
            long first = ThreadLocalRandom.current().nextLong(nanos / 2, nanos + 1);
            var unused = thread.scheduleWithFixedDelay(
                    () -> runInTurn(period.dividedBy(2)), first, nanos, TimeUnit.NANOSECONDS);
        }
    }

    /** Whoever takes the turn keeps it from the others for some time, although it gives it back at once. */
    private void runInTurn(Duration atMostEvery) {
        try {
            Optional<LockHandle> turn = locks.tryAcquire(TURN.minimumHold(atMostEvery));
            turn.ifPresent(LockHandle::close);
            if (turn.isPresent()) {
                locks.tryAcquire(REQUEST).ifPresent(lock -> {
                    try (lock) {
                        LogEvent.HOUSEKEEPING_DONE.in(LOG.atDebug()).log("Tidied up: {}", tidyUp(lock));
                    }
                });
            }
        } catch (LockStoreException failed) {
            LogEvent.HOUSEKEEPING_FAILED
                    .in(LOG.atWarn())
                    .log(
                            "The lock tables are not tidied up (does the connection lead to the primary, and may it write?): {}",
                            failed.getMessage());
            LOG.debug("The lock tables are not tidied up", failed);
        } catch (RuntimeException | Error failed) {
            LogEvent.HOUSEKEEPING_FAILED.in(LOG.atWarn()).setCause(failed).log("The lock tables are not tidied up");
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
            int purged = pages(lock, "", this::idle, LockEntity::name, page -> batch(page, table()::purge));
            int nodesPurged = pages(lock, "", this::idleNodes, Function.identity(), this::purgeNodes);
            int runsLost = pages(lock, FIRST_RUN, this::abandonedRuns, Housekeeping::key, this::loseRuns);
            int runsPurged = pages(lock, FIRST_RUN, this::oldRuns, Housekeeping::key, this::purgeRuns);
            return new HousekeepingReport(ended, freed, purged, nodesPurged, runsLost, runsPurged);
        } catch (StoreException failed) {
            throw new LockStoreException("The lock tables were not tidied up to the end", failed);
        }
    }

    private LockTableRepository table() {
        return store.table();
    }

    private List<String> overdueNodes(String after) {
        return table().overdueNodes(after, -clockTolerance.toNanos() / 1000, PAGE);
    }

    private List<LockEntity> orphans(String after) {
        return table().orphans(after, PAGE);
    }

    private int free(List<String> names) {
        return table().vacate(names, lockDelay.toNanos() / 1000);
    }

    private List<LockEntity> idle(String after) {
        return table().idle(after, sinceMicros(), PAGE);
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
            ended += decided(() -> store.nodes().endIfOverdue(id, clockTolerance)) ? 1 : 0;
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

    private static LockRun.Key key(LockRun run) {
        return new LockRun.Key(run.name(), run.fencingToken());
    }

    private List<LockRun> abandonedRuns(LockRun.Key after) {
        long graceMicros = -STATEMENT.plus(clockTolerance).toNanos() / 1000;
        return store.runs().abandoned(after.name(), after.fencingToken(), graceMicros, PAGE);
    }

    private int loseRuns(List<LockRun> runs) {
        List<LockRun> lost = new ArrayList<>();
        int count = orNextTime(() -> {
            lost.clear();
            runs.stream()
                    .filter(run -> store.runs().lose(run.name(), run.fencingToken(), null))
                    .forEach(lost::add);
            return lost.size();
        });
        if (count > 0) {
            lost.forEach(run -> LockLog.runLost(run.name(), run.fencingToken()));
        }
        return count;
    }

    private List<LockRun> oldRuns(LockRun.Key after) {
        return store.runs().old(sinceMicros(), SINCE_LONGEST_MICROS, after.name(), after.fencingToken(), PAGE);
    }

    private int purgeRuns(List<LockRun> runs) {
        Map<String, List<Long>> tokens = runs.stream()
                .collect(Collectors.groupingBy(
                        LockRun::name, Collectors.mapping(LockRun::fencingToken, Collectors.toList())));
        return orNextTime(() -> tokens.entrySet().stream()
                .mapToInt(ofName -> store.runs().purge(ofName.getKey(), ofName.getValue()))
                .sum());
    }

    /** Reads all candidates, page by page, and works on each page; returns on how many of them something was done. */
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
        return Patience.untilDecided(ticker, STATEMENT, () -> store.inTransaction(STATEMENT, work));
    }

    private int batch(List<LockEntity> candidates, ToIntFunction<List<String>> work) {
        Map<String, Long> versions =
                candidates.stream().collect(Collectors.toMap(LockEntity::name, LockEntity::version));
        return orNextTime(() -> {
            List<String> unchanged = table().lockThoseFree(List.copyOf(versions.keySet())).stream()
                    .filter(row -> row.version() == versions.getOrDefault(row.name(), -1L))
                    .map(LockEntity::name)
                    .toList();
            return unchanged.isEmpty() ? 0 : work.applyAsInt(unchanged);
        });
    }

    private int orNextTime(Supplier<Integer> work) {
        try {
            return store.inTransaction(STATEMENT, work);
        } catch (StoreException failed) {
            if (!failed.failure().isTransient()) {
                throw failed;
            }
            LOG.debug("A batch of rows was in use, and is left for the next time", failed);
            return 0;
        }
    }

    /** Does no more; what is under way goes on until its next batch. */
    @Override
    public void close() {
        thread.shutdown();
    }
}
