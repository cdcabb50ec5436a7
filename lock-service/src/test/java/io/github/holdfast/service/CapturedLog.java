package io.github.holdfast.service;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/** What a class logs, instead of printing it. */
public final class CapturedLog implements AutoCloseable {

    private final Logger logger;
    private final @Nullable Level before;
    private final ListAppender<ILoggingEvent> appender = new ListAppender<>();

    private CapturedLog(Logger logger, Level level) {
        this.logger = logger;
        before = logger.getLevel();
        appender.list = new CopyOnWriteArrayList<>();
        appender.start();
        logger.setLevel(level);
        logger.setAdditive(false);
        logger.addAppender(appender);
    }

    /** Warnings and worse. */
    public static CapturedLog of(Class<?> type) {
        return of(type, Level.WARN);
    }

    /** Warnings and worse. */
    public static CapturedLog of(String logger) {
        return of(logger, Level.WARN);
    }

    public static CapturedLog of(Class<?> type, Level level) {
        return of(type.getName(), level);
    }

    public static CapturedLog of(String logger, Level level) {
        return new CapturedLog((Logger) LoggerFactory.getLogger(logger), level);
    }

    public List<ILoggingEvent> lines() {
        return appender.list;
    }

    @Override
    public void close() {
        logger.detachAppender(appender);
        logger.setAdditive(true);
        logger.setLevel(before);
    }
}
