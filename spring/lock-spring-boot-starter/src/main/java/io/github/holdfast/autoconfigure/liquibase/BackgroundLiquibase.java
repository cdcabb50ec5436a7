package io.github.holdfast.autoconfigure.liquibase;

import io.github.holdfast.autoconfigure.liquibase.LockLiquibase.History;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.sql.DataSource;
import liquibase.exception.LiquibaseException;
import liquibase.integration.spring.SpringLiquibase;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.DirectFieldAccessor;
import org.springframework.beans.factory.ListableBeanFactory;

/**
 * Waits for the application's own Liquibase, which may run in another thread after the creation of its bean. In an empty
 * database, Liquibase's lock does not prevent conflicts between two instances. Each creates the changelog table before it takes
 * the lock, and the second one fails.
 */
public final class BackgroundLiquibase {

    private static final Logger LOG = LoggerFactory.getLogger(BackgroundLiquibase.class);

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /**
     * The longest wait between the creation of the tables and the first entry. An empty changelog uses up this time.
     */
    private static final Duration PATIENCE_WHEN_EMPTY = Duration.ofSeconds(30);

    private static final Duration POLL = Duration.ofMillis(100);

    private final Map<String, LockLiquibase> running;

    private BackgroundLiquibase(Map<String, LockLiquibase> running) {
        this.running = running;
    }

    /** Finds the Liquibase beans for the same database. They already exist; see {@code LockSchemaInitializerDetector}. */
    public static BackgroundLiquibase on(DataSource dataSource, ListableBeanFactory beans) {
        Map<String, LockLiquibase> running = new LinkedHashMap<>();
        for (String name : beans.getBeanNamesForType(SpringLiquibase.class, true, false)) {
            SpringLiquibase liquibase = beans.getBean(name, SpringLiquibase.class);
            if (mayRun(liquibase, dataSource)) {
                running.put(name, LockLiquibase.beside(liquibase, dataSource));
            }
        }
        return new BackgroundLiquibase(running);
    }

    /**
     * Returns whether a bean may run Liquibase in another thread. A subclass may do so; the classes of Liquibase and Spring Boot
     * do not.
     */
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
        try {
            return url(one).equals(url(other));
        } catch (SQLException ended) {
            // If Liquibase has a separate data source, it closes that when it has finished.
            return false;
        }
    }

    /**
     * Reads the URL, and returns the connection at once. Both data sources may use the same pool of one connection.
     */
    private static String url(DataSource dataSource) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            return connection.getMetaData().getURL();
        }
    }

    public boolean isThere() {
        return !running.isEmpty();
    }

    /** Returns the names of the beans, for a message. */
    public String names() {
        return String.join(", ", running.keySet());
    }

    /** Waits for each bean until its changelog is applied. Gives up after two minutes, or earlier if the tables stay empty. */
    public void await() throws LiquibaseException {
        long begin = System.nanoTime();
        for (Map.Entry<String, LockLiquibase> each : running.entrySet()) {
            await(each.getKey(), each.getValue(), begin);
        }
    }

    private static void await(String name, LockLiquibase tables, long begin) throws LiquibaseException {
        long emptySince = System.nanoTime();
        boolean isFirst = true;
        for (History history = tables.history(); history != History.WRITTEN; history = tables.history()) {
            if (isFirst) {
                LOG.info("Waiting for the application's Liquibase, which may run in the background: {}", name);
                isFirst = false;
            }
            long now = System.nanoTime();
            emptySince = history == History.EMPTY ? emptySince : now;
            if (now - begin > PATIENCE.toNanos() || now - emptySince > PATIENCE_WHEN_EMPTY.toNanos()) {
                LOG.info("No longer waiting for {}: its tables are {}", name, history);
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
