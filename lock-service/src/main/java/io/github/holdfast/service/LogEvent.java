package io.github.holdfast.service;

import org.slf4j.spi.LoggingEventBuilder;

/**
 * What is logged for operators, by an id that stays the same when the message changes. All of them are listed in {@code
 * docs/observability.md}.
 */
enum LogEvent {
    LOCK_LOST("lock.lost"),
    LOCK_SUSPECT("lock.suspect"),
    LOCK_TAKEN_OVER("lock.takeover"),
    LOCK_FORCED("lock.forced"),
    LOCK_DEFERRED("lock.deferred"),
    LOCK_UNSETTLED("lock.unsettled"),
    LOCK_FREED("lock.freed"),
    COMMIT_REFUSED("commit.refused"),
    TRANSACTION_UNFENCED("transaction.unfenced"),
    TRANSACTION_OLD_SNAPSHOT("transaction.old-snapshot"),
    TRANSACTION_SEVERAL_LOCKS("transaction.several-locks"),
    NODE_REGISTERED("node.registered"),
    NODE_ENDED("node.ended"),
    NODE_UNENDED("node.unended"),
    CLUSTER_FOUND("cluster.found"),
    HEARTBEAT_FAILED("heartbeat.failed"),
    CLOCKS_PARTED("clocks.parted"),
    RUN_LOST("run.lost"),
    RUN_UNANSWERED("run.unanswered"),
    RUN_ENDED("run.ended"),
    RUN_UNRECORDED("run.unrecorded"),
    WAKE_UP_LOST("wake-up.lost"),
    HOUSEKEEPING_DONE("housekeeping.done"),
    HOUSEKEEPING_FAILED("housekeeping.failed"),
    LISTENER_FAILED("listener.failed"),
    INTERNAL_FAILED("internal.failed");

    // All keys have a prefix: a name that the application has in its MDC, too, would make structured log lines invalid.
    static final String LOCK = "holdfast.lock";
    static final String TOKEN = "holdfast.token";
    static final String HOLDER = "holdfast.holder";
    static final String CAUSE = "holdfast.cause";
    static final String REASON = "holdfast.reason";
    static final String NODE = "holdfast.node";
    static final String KEY = "holdfast.event";

    private final String id;

    LogEvent(String id) {
        this.id = "holdfast." + id;
    }

    String id() {
        return id;
    }

    /** Begins what is logged; nothing is if the logger's level is off. */
    LoggingEventBuilder in(LoggingEventBuilder log) {
        return log.addKeyValue(KEY, id);
    }

    /** As {@link #in}, of one lock or task. */
    LoggingEventBuilder of(String lockName, LoggingEventBuilder log) {
        return in(log).addKeyValue(LOCK, lockName);
    }
}
