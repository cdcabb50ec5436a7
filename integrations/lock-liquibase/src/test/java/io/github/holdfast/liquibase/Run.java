package io.github.holdfast.liquibase;

import java.sql.Connection;
import javax.sql.DataSource;
import liquibase.Contexts;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.lockservice.LockService;
import liquibase.lockservice.LockServiceFactory;
import liquibase.resource.ClassLoaderResourceAccessor;

/** A run of Liquibase, as an application without Spring would do it. */
final class Run implements AutoCloseable {

    private final Connection connection;
    private final Database database;

    /** Prepares a run without any protection. */
    Run(DataSource dataSource) throws Exception {
        connection = dataSource.getConnection();
        database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
    }

    /** Prepares a run that is protected, with connections of the same data source. */
    static Run under(LiquibaseLock lock, DataSource dataSource) throws Exception {
        Run run = new Run(dataSource);
        lock.protect(run.database);
        return run;
    }

    /** Applies a changelog of the class path. */
    void apply(String changelog) throws Exception {
        // It must not be closed: its connection is this run's.
        @SuppressWarnings("resource")
        Liquibase liquibase =
                new Liquibase(changelog, new ClassLoaderResourceAccessor(Run.class.getClassLoader()), database);
        liquibase.update(new Contexts());
    }

    /** Drops everything that is in the schema. */
    void dropAll() throws Exception {
        @SuppressWarnings("resource")
        Liquibase liquibase =
                new Liquibase("none.xml", new ClassLoaderResourceAccessor(Run.class.getClassLoader()), database);
        liquibase.dropAll();
    }

    /** Returns the lock as Liquibase finds it. */
    LockService lock() {
        return LockServiceFactory.getInstance().getLockService(database);
    }

    /** Returns the lock with this limit of the wait, and a short pause between two looks. */
    LockService lock(long waitMinutes) {
        LockService lock = lock();
        lock.setChangeLogLockWaitTime(waitMinutes);
        lock.setChangeLogLockRecheckTime(1);
        return lock;
    }

    Database database() {
        return database;
    }

    @Override
    public void close() throws Exception {
        connection.close();
    }
}
