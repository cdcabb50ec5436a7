package io.github.holdfast.service.engine.runtime;

import org.slf4j.Logger;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * The events that operators see in the log. An event keeps its id when its message changes. {@code docs/operate/observability.md}
 * lists all events.
 */
public enum LogEvent {
    SERVICE_STARTED("service.started"),
    SERVICE_DRAINING("service.draining"),
    LOCK_LOST("lock.lost"),
    LOCK_SUSPECT("lock.suspect"),
    LOCK_TAKEN_OVER("lock.takeover"),
    LOCK_FORCED("lock.forced"),
    LIMIT_CHANGED("limit.changed"),
    LOCK_DEFERRED("lock.deferred"),
    LOCK_UNSETTLED("lock.unsettled"),
    LOCK_FREED("lock.freed"),
    LOCK_LEAKED("lock.leaked"),
    LOCK_RELEASED_ELSEWHERE("lock.released-elsewhere"),
    COMMIT_REFUSED("commit.refused"),
    TRANSACTION_UNFENCED("transaction.unfenced"),
    TRANSACTION_UNGUARDED("transaction.unguarded"),
    TRANSACTION_OLD_SNAPSHOT("transaction.old-snapshot"),
    TRANSACTION_SEVERAL_LOCKS("transaction.several-locks"),
    NODE_REGISTERED("node.registered"),
    NODE_ENDED("node.ended"),
    NODE_UNENDED("node.unended"),
    CLUSTER_FOUND("cluster.found"),
    DATABASE_RISK("database.risk"),
    DATABASE_UNCHECKED("database.unchecked"),
    HEARTBEAT_FAILED("heartbeat.failed"),
    CLOCKS_PARTED("clocks.parted"),
    DATABASE_CLOCK_PARTED("database.clock-parted"),
    RUN_LOST("run.lost"),
    RUN_UNANSWERED("run.unanswered"),
    RUN_ENDED("run.ended"),
    RUN_UNRECORDED("run.unrecorded"),
    WAKE_UP_LOST("wake-up.lost"),
    LEADER_GRANTED("leader.granted"),
    LEADER_REVOKED("leader.revoked"),
    CANDIDATE_FAILED("candidate.failed"),
    HOUSEKEEPING_DONE("housekeeping.done"),
    HOUSEKEEPING_FAILED("housekeeping.failed"),
    LISTENER_FAILED("listener.failed"),
    INTERNAL_FAILED("internal.failed");

    // All keys have a prefix: a key that is also in the application's MDC would make structured log lines invalid.
    public static final String LOCK = "holdfast.lock";
    public static final String TOKEN = "holdfast.token";
    public static final String HOLDER = "holdfast.holder";
    public static final String CAUSE = "holdfast.cause";
    public static final String REASON = "holdfast.reason";
    public static final String NODE = "holdfast.node";
    public static final String VERSION = "holdfast.version";
    public static final String DATABASE = "holdfast.database";
    public static final String UNIT = "holdfast.unit";
    public static final String KEY = "holdfast.event";

    private final String id;

    LogEvent(String id) {
        this.id = "holdfast." + id;
    }

    public String id() {
        return id;
    }

    /** Begins a log entry; nothing is logged if the logger's level is off. */
    public LoggingEventBuilder in(LoggingEventBuilder log) {
        return log.addKeyValue(KEY, id);
    }

    /** Logs that a run of a task is lost. */
    public static void runLost(Logger log, String task, long fencingToken) {
        RUN_LOST.of(task, log.atWarn())
                .addKeyValue(TOKEN, fencingToken)
                .log("Run {} of task '{}' is lost", fencingToken, task);
    }

    /** As {@link #in}, for one lock or task. */
    public LoggingEventBuilder of(String lockName, LoggingEventBuilder log) {
        return in(log).addKeyValue(LOCK, lockName);
    }
}
