package io.github.holdfast.liquibase;

import java.lang.ref.WeakReference;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import liquibase.database.Database;
import org.jspecify.annotations.Nullable;

/**
 * A database that Liquibase changes under a lock with a lease, and the lock if it is held.
 *
 * <p>Liquibase forgets its lock services whenever any run in the JVM ends. So the lock is remembered here, and not by {@link
 * ChangeLogLockService}: otherwise the end of one run could make Liquibase forget the lock of another one. Thread-safe.
 */
final class ProtectedDatabase {

    /** Few, and Liquibase's own equality of them changes when a connection is closed. So it is a list, compared by identity. */
    private static final List<ProtectedDatabase> ALL = new CopyOnWriteArrayList<>();

    private final WeakReference<Database> database;
    private volatile LiquibaseLock settings;
    private volatile @Nullable LiquibaseHold held;

    private ProtectedDatabase(Database database, LiquibaseLock settings) {
        this.database = new WeakReference<>(database);
        this.settings = settings;
    }

    static synchronized void add(Database database, LiquibaseLock settings) {
        ALL.removeIf(known -> known.database.get() == null);
        Optional<ProtectedDatabase> known = find(database);
        known.ifPresentOrElse(
                found -> found.settings = settings, () -> ALL.add(new ProtectedDatabase(database, settings)));
    }

    static Optional<ProtectedDatabase> find(Database database) {
        return ALL.stream().filter(known -> known.database.get() == database).findFirst();
    }

    LiquibaseLock settings() {
        return settings;
    }

    /** Returns the lock if this process holds it; null if it does not, or has lost it. */
    @Nullable
    LiquibaseHold held() {
        LiquibaseHold lock = held;
        return lock == null || lock.isLost() ? null : lock;
    }

    void hold(LiquibaseHold lock) {
        held = lock;
    }

    /** Returns the lock, even if it is lost, and forgets it. Null if there is none. */
    @Nullable
    LiquibaseHold forget() {
        LiquibaseHold lock = held;
        held = null;
        return lock;
    }
}
