package io.github.holdfast.service;

import io.github.holdfast.repository.Cluster;
import io.github.holdfast.service.ServiceSettings.Writers;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs what happens to locks and is not as it should be. It never waits for a lock: a slow log delays no loss. */
final class LockLog implements LockListener {

    /** Known to users. */
    private static final Logger LOG = LoggerFactory.getLogger(LockService.class);

    /** Whoever closes a service with locks held knows it; any other loss is a surprise. */
    @Override
    public void lost(LockLost loss) {
        LogEvent.LOCK_LOST
                .of(loss.lockName(), loss.cause() == LossCause.SERVICE_CLOSED ? LOG.atInfo() : LOG.atWarn())
                .addKeyValue(LogEvent.TOKEN, loss.fencingToken())
                .addKeyValue(LogEvent.CAUSE, loss.cause().name().toLowerCase(Locale.ROOT))
                .log("Lock '{}' is lost: {}", loss.lockName(), loss.cause().why());
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
        String left = formerHolder == null ? "an unknown holder" : formerHolder;
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
                .log("Lock '{}' is released when the transactions that ran under it have ended", lockName);
    }

    @Override
    public void commitRefused(String lockName) {
        LogEvent.COMMIT_REFUSED
                .of(lockName, LOG.atWarn())
                .log("A transaction is not committed: lock '{}' was lost, or could not be checked", lockName);
    }

    /** Where several servers write, which is seldom intended to change what locks do. */
    static void opened(Cluster cluster, Writers writers) {
        if (cluster.hasSeveralWriters()) {
            LogEvent.CLUSTER_FOUND
                    .in(LOG.atInfo())
                    .log(
                            "The database is {}, in which several servers may write: a transaction under a lock changes the lock's row"
                                    + " before it commits, and row locks are {}",
                            cluster.label(),
                            writers == Writers.ONE_AT_A_TIME
                                    ? "allowed, because the application says that it writes to one server at a time"
                                    : "refused");
        }
    }

    static void forced(LockInfo from, String reason) {
        String holder = from.holder() == null ? "an unknown holder" : from.holder();
        LogEvent.LOCK_FORCED
                .of(from.name(), LOG.atWarn())
                .addKeyValue(LogEvent.TOKEN, from.fencingToken())
                .addKeyValue(LogEvent.HOLDER, holder)
                .addKeyValue(LogEvent.REASON, reason)
                .log("Lock '{}' was taken from {} by force: {}", from.name(), holder, reason);
    }

    static void runLost(String task, long fencingToken) {
        LogEvent.RUN_LOST
                .of(task, LOG.atWarn())
                .addKeyValue(LogEvent.TOKEN, fencingToken)
                .log("The run {} of task '{}' is lost", fencingToken, task);
    }
}
