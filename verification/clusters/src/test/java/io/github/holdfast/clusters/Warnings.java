package io.github.holdfast.clusters;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.slf4j.LoggerFactory;

/** What Holdfast warns of. */
final class Warnings {

    private Warnings() {}

    interface Work {
        void run() throws InterruptedException;
    }

    /** Returns the texts while this ran, which are not printed. */
    static List<String> during(Work work) throws InterruptedException {
        Logger logger = (Logger) LoggerFactory.getLogger("io.github.holdfast");
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        logger.setAdditive(false);
        logger.setLevel(Level.WARN);
        try {
            work.run();
        } finally {
            logger.setLevel(null);
            logger.setAdditive(true);
            logger.detachAppender(log);
        }
        return log.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }
}
