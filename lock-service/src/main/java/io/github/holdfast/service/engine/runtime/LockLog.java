package io.github.holdfast.service.engine.runtime;

import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.repository.rows.HolderRows.LimitChange;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.runtime.ServiceSettings.Writers;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** Logs lock events for operators. It takes no mutex, and a slow log does not delay the report of a loss. */
public final class LockLog implements LockListener {

    /** The logger is named after the class that users call. */
    private static final Logger LOG = LoggerFactory.getLogger("io.github.holdfast.service.LockService");

    /** How many names a message lists. */
    private static final int MOST_NAMES = 10;

    /** Warns of a loss, except after a close: the application that closes a service that holds locks expects to lose them. */
    @Override
    public void lost(LockLost loss) {
        LogEvent.LOCK_LOST
                .of(loss.lockName(), loss.cause() == LossCause.SERVICE_CLOSED ? LOG.atInfo() : LOG.atWarn())
                .addKeyValue(LogEvent.TOKEN, loss.fencingToken())
                .addKeyValue(LogEvent.CAUSE, loss.cause().name().toLowerCase(Locale.ROOT))
                .log("Lock '{}' is lost: {}", loss.lockName(), loss.cause().why());
    }

    /** Says for which locks a close waits. */
    public static void draining(List<String> names, Duration atMost) {
        LogEvent.SERVICE_DRAINING
                .in(LOG.atInfo())
                .log(
                        "The lock service is being closed, and waits up to {} for locks that are held or awaited ({}): {}{}",
                        new ReadableDuration(atMost),
                        names.size(),
                        String.join(", ", names.subList(0, Math.min(names.size(), MOST_NAMES))),
                        names.size() > MOST_NAMES ? ", ..." : "");
    }

    /**
     * Warns of a leak.
     *
     * @param message with places for the name, the thread, and how long the lock has been held
     * @param thread the thread that has acquired the lock; null if it is not known
     * @param acquisition the stack of the acquisition; null if it is not known
     */
    public static void leaked(
            String message, Grant grant, @Nullable Thread thread, Duration heldFor, @Nullable Throwable acquisition) {
        LogEvent.LOCK_LEAKED
                .of(grant.name(), LOG.atWarn())
                .addKeyValue(LogEvent.TOKEN, grant.fencingToken())
                .setCause(acquisition)
                .log(
                        message,
                        grant.name(),
                        thread == null ? "unknown" : thread.getName(),
                        new ReadableDuration(heldFor.truncatedTo(ChronoUnit.SECONDS)));
    }

    @Override
    public void suspect(String lockName, long fencingToken) {
        LogEvent.LOCK_SUSPECT
                .of(lockName, LOG.atWarn())
                .addKeyValue(LogEvent.TOKEN, fencingToken)
                .log("Lock '{}' may be lost soon: its heartbeat is overdue", lockName);
    }

    @Override
    public void takenOver(String lockName, long fencingToken, @Nullable String formerHolder) {
        String left = nameOf(formerHolder);
        LogEvent.LOCK_TAKEN_OVER
                .of(lockName, LOG.atInfo())
                .addKeyValue(LogEvent.TOKEN, fencingToken)
                .addKeyValue(LogEvent.HOLDER, left)
                .log("Lock '{}' was taken over from {}, which had not released it", lockName, left);
    }

    @Override
    public void deferred(String lockName, long fencingToken) {
        LogEvent.LOCK_DEFERRED
                .of(lockName, LOG.atDebug())
                .addKeyValue(LogEvent.TOKEN, fencingToken)
                .log("The release of lock '{}' is deferred until its transactions have ended", lockName);
    }

    @Override
    public void commitRefused(String lockName) {
        LogEvent.COMMIT_REFUSED
                .of(lockName, LOG.atWarn())
                .log("A transaction is not committed: lock '{}' was lost, or could not be checked", lockName);
    }

    /**
     * Logs that a service is ready, to show operators whether Holdfast is active.
     *
     * @param isWoken whether the releases of other nodes wake the threads of this one
     * @param keepReleased how long released locks are kept if that is possible; null if they are not
     */
    public static void started(LockStore store, boolean isWoken, @Nullable Duration keepReleased) {
        String version = version();
        LogEvent.SERVICE_STARTED
                .in(LOG.atInfo())
                .addKeyValue(LogEvent.VERSION, version)
                .addKeyValue(LogEvent.DATABASE, store.database())
                .addKeyValue(LogEvent.UNIT, store.persistenceUnit())
                .log(
                        "Holdfast is active: version {}, database {}, persistence unit '{}', connections of {}, waiting"
                                + " threads {}{}",
                        version,
                        store.database(),
                        store.persistenceUnit(),
                        store.hasOwnConnections() ? "its own" : "the application",
                        isWoken ? "are woken" : "poll",
                        keepReleased == null || isWoken
                                ? ""
                                : ", released locks are not kept, because other services could not ask for them");
    }

    /** Returns what the jar says. If an application has merged all jars into one, that one says the application's version. */
    private static String version() {
        Package own = LockLog.class.getPackage();
        return "lock-service".equals(own.getImplementationTitle())
                ? Objects.requireNonNullElse(own.getImplementationVersion(), "unknown")
                : "unknown";
    }

    /** Logs that several servers of the database accept writes. This changes how locks work, and is seldom intended. */
    public static void severalWriters(String cluster, Writers writers) {
        LogEvent.CLUSTER_FOUND
                .in(LOG.atInfo())
                .log(
                        "The database is {}, where several servers accept writes: a transaction under a lock changes"
                                + " the lock's row before it commits, and row locks are {}",
                        cluster,
                        writers == Writers.ONE_AT_A_TIME
                                ? "allowed, because the application says that it writes to one server at a time"
                                : "refused");
    }

    public static void forced(LockInfo from, String reason) {
        String holder = nameOf(from.holder());
        forced(from.name(), from.fencingToken(), holder, reason)
                .log("Lock '{}' was taken from {} by force: {}", from.name(), holder, reason);
    }

    public static void forced(LockHolder from, String reason) {
        String holder = nameOf(from.holder());
        forced(from.name(), from.fencingToken(), holder, reason)
                .log(
                        "{} permits of semaphore '{}' were taken from {} by force: {}",
                        from.permits(),
                        from.name(),
                        holder,
                        reason);
    }

    private static LoggingEventBuilder forced(String name, long fencingToken, String holder, String reason) {
        return LogEvent.LOCK_FORCED
                .of(name, LOG.atWarn())
                .addKeyValue(LogEvent.TOKEN, fencingToken)
                .addKeyValue(LogEvent.HOLDER, holder)
                .addKeyValue(LogEvent.REASON, reason);
    }

    private static String nameOf(@Nullable String holder) {
        return holder == null ? "an unknown holder" : holder;
    }

    public static void limitChanged(LimitChange change, int before) {
        LogEvent.LIMIT_CHANGED
                .of(change.name(), LOG.atWarn())
                .addKeyValue(LogEvent.REASON, change.reason())
                .log(
                        "The limit of semaphore '{}' was changed from {} to {} permits: {}",
                        change.name(),
                        before,
                        change.limit(),
                        change.reason());
    }

    public static void notGivenBack(Throwable failed) {
        LogEvent.INTERNAL_FAILED
                .in(LOG.atWarn())
                .setCause(failed)
                .log("Released locks that were kept may stay held until the node's lease ends");
    }

    public static void notReleasedOnClose(String lockName, Throwable failed) {
        LogEvent.INTERNAL_FAILED
                .of(lockName, LOG.atWarn())
                .setCause(failed)
                .log("Lock '{}' was not released when the lock service was closed", lockName);
    }
}
