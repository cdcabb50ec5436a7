package io.github.holdfast.election;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.service.engine.runtime.LogEvent;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/** Logs for operators which node leads, and what goes wrong with it. */
final class LeaderLog {

    /** The logger is named after the class that users call. */
    private static final Logger LOG = LoggerFactory.getLogger(LeaderElection.class);

    private LeaderLog() {}

    static void granted(Leadership leadership) {
        about(leadership, LogEvent.LEADER_GRANTED, LOG.atInfo())
                .log("This node leads '{}' in term {}", leadership.name(), leadership.term());
    }

    /** Warns of a loss, but not of a resignation, which was requested. */
    static void revoked(Leadership leadership, RevocationCause cause) {
        boolean isExpected = cause == RevocationCause.RESIGNED;
        about(leadership, LogEvent.LEADER_REVOKED, isExpected ? LOG.atInfo() : LOG.atWarn())
                .addKeyValue(LogEvent.CAUSE, cause.name().toLowerCase(Locale.ROOT))
                .log("This node no longer leads '{}': {}", leadership.name(), cause.why());
    }

    /**
     * Logs an exception of {@code onGranted} after the end of the leadership. That end may have caused it, and then it is not
     * worth a warning.
     */
    static void failedAtTheEnd(Leadership leadership, Throwable failed) {
        if (failed instanceof InterruptedException || failed instanceof HoldfastException) {
            LOG.debug("The leader of '{}' was interrupted", leadership.name(), failed);
        } else {
            callbackFailed("onGranted", leadership, failed);
        }
    }

    static void callbackFailed(String callback, Leadership leadership, Throwable failed) {
        about(leadership, LogEvent.LISTENER_FAILED, LOG.atError())
                .setCause(failed)
                .log("{} of election '{}' failed in term {}", callback, leadership.name(), leadership.term());
    }

    private static LoggingEventBuilder about(Leadership leadership, LogEvent event, LoggingEventBuilder entry) {
        return event.of(leadership.name(), entry).addKeyValue(LogEvent.TOKEN, leadership.term());
    }

    static void candidateFailed(String election, Throwable failed) {
        LogEvent.CANDIDATE_FAILED
                .of(election, LOG.atWarn())
                .setCause(failed)
                .log("This node could not become the leader of '{}', and tries again", election);
    }

    static void interrupted(String election, InterruptedException ofNobody) {
        LOG.debug("The thread of election '{}' was interrupted from outside", election, ofNobody);
    }

    static void isStuck(String election) {
        LOG.debug("The callbacks of election '{}' have not returned", election);
    }
}
