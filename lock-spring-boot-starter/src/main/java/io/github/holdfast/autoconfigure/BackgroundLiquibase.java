package io.github.holdfast.autoconfigure;

import io.github.holdfast.autoconfigure.LockLiquibase.History;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import javax.sql.DataSource;
import liquibase.exception.LiquibaseException;
import liquibase.integration.spring.SpringLiquibase;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.DirectFieldAccessor;
import org.springframework.beans.factory.ListableBeanFactory;

/**
 * The application's own Liquibase, where it may go on in another thread after its bean was made. Liquibase's lock does not keep the two
 * apart in an empty database: each creates the table of what was applied before it takes the lock, and who comes second fails.
 */
final class BackgroundLiquibase {

    private static final Logger LOG = LoggerFactory.getLogger(BackgroundLiquibase.class);

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** So long it may take its time between creating the tables and writing to them; for a changelog that does nothing, it is lost. */
    private static final Duration PATIENCE_WHEN_EMPTY = Duration.ofSeconds(30);

    private static final Duration POLL = Duration.ofMillis(100);

    private final List<String> running;

    private BackgroundLiquibase(List<String> running) {
        this.running = running;
    }

    /** Finds those that run on the same database. Their beans exist, see {@link LockSchemaInitializerDetector}. */
    static BackgroundLiquibase on(DataSource dataSource, ListableBeanFactory beans) {
        return new BackgroundLiquibase(Arrays.stream(beans.getBeanNamesForType(SpringLiquibase.class, true, false))
                .filter(name -> mayRun(beans.getBean(name, SpringLiquibase.class), dataSource))
                .toList());
    }

    /** What overrides the method that runs Liquibase may have another thread do it. Those of Liquibase and Spring do not. */
    private static boolean mayRun(SpringLiquibase liquibase, DataSource dataSource) {
        String definedIn = liquibase.getClass().getPackageName();
        boolean isItself = definedIn.startsWith("liquibase.") || definedIn.startsWith("org.springframework.boot.");
        return !isItself
                && Boolean.TRUE.equals(new DirectFieldAccessor(liquibase).getPropertyValue("shouldRun"))
                && isSameDatabase(liquibase.getDataSource(), dataSource);
    }

    private static boolean isSameDatabase(DataSource one, DataSource other) {
        if (one == other) {
            return true;
        }
        try (Connection first = one.getConnection();
                Connection second = other.getConnection()) {
            return first.getMetaData().getURL().equals(second.getMetaData().getURL());
        } catch (SQLException ended) {
            // It closes a data source of its own when it is done.
            return false;
        }
    }

    boolean isThere() {
        return !running.isEmpty();
    }

    /** For a message. */
    String names() {
        return String.join(", ", running);
    }

    /** Returns when it has ended or at least taken its lock for good, or has not begun for two minutes. */
    void await(LockLiquibase ours) throws LiquibaseException {
        if (running.isEmpty()) {
            return;
        }
        long begin = System.nanoTime();
        long emptySince = begin;
        boolean isFirst = true;
        for (History history = ours.history(); history != History.WRITTEN; history = ours.history()) {
            if (isFirst) {
                LOG.info("Waiting for the application's Liquibase, which may run in the background: {}", names());
                isFirst = false;
            }
            long now = System.nanoTime();
            emptySince = history == History.EMPTY ? emptySince : now;
            if (now - begin > PATIENCE.toNanos() || now - emptySince > PATIENCE_WHEN_EMPTY.toNanos()) {
                LOG.info("Not waiting any longer for {}, whose tables are {}", names(), history);
                return;
            }
            pause();
        }
    }

    private static void pause() throws LiquibaseException {
        try {
            Thread.sleep(POLL.toMillis());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new LiquibaseException(interrupted);
        }
    }
}
