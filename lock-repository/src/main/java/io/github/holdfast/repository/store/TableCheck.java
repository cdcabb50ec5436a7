package io.github.holdfast.repository.store;

import io.github.holdfast.repository.Changelog;
import io.github.holdfast.repository.DatabaseSetupException;
import io.github.holdfast.repository.DatabaseSetupException.Problem;
import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.LockTables;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.jdbc.IsolatedPersistenceUnit;
import io.github.holdfast.repository.rows.LockRows;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Checks that the tables are there, that they can be written, and that they distinguish names. */
final class TableCheck {

    private static final String COLLATION =
            " needs the collation utf8mb4_0900_bin (MySQL), utf8mb4_nopad_bin (MariaDB) or"
                    + " \"C\" (PostgreSQL), as in the changelog " + LockSchema.CHANGELOG;

    /**
     * Names that differ in all that a collation may ignore: case, accent, Unicode form, a zero-width character, a character outside of the
     * basic plane. If the database's encoding lacks a character, the next ones are tried.
     */
    private static final List<List<String>> DIFFERENT_NAMES = List.of(
            List.of(
                    "holdfast caf\u00e9 \ud83d\udd12 ",
                    "HOLDFAST caf\u00e9 \ud83d\udd12 ",
                    "holdfast cafe \ud83d\udd12 ",
                    "holdfast cafe\u0301 \ud83d\udd12 ",
                    "holdfast\u200b caf\u00e9 \ud83d\udd12 ",
                    "holdfast caf\u00e9 \ud83d\udd11 "),
            List.of("holdfast caf\u00e9 ", "HOLDFAST caf\u00e9 ", "holdfast cafe "),
            List.of("holdfast cafe ", "HOLDFAST cafe "));

    private static final Logger LOG = LoggerFactory.getLogger(TableCheck.class);

    private final JpaLockStore store;
    private final SessionFactoryImplementor factory;
    private final @Nullable DataSource dataSource;
    private final LockDialect dialect;
    private final SqlErrors errors;

    private TableCheck(JpaLockStore store, SessionFactoryImplementor factory, @Nullable DataSource dataSource) {
        this.store = store;
        this.factory = factory;
        this.dataSource = dataSource;
        this.dialect = KnownDialects.of(factory);
        this.errors = SqlErrors.of(dialect);
    }

    /**
     * Checks the tables; leaves nothing behind.
     *
     * @param dataSource the source of the store's connections; null for that of the application
     */
    static void of(JpaLockStore store, SessionFactoryImplementor factory, @Nullable DataSource dataSource) {
        new TableCheck(store, factory, dataSource).run();
    }

    private void run() {
        try {
            storesNames();
        } catch (StoreException failed) {
            throw switch (failed.failure()) {
                case TABLE_MISSING -> missing(failed);
                case REFUSED, READ_ONLY -> refused(failed);
                default -> failed;
            };
        }
    }

    private RuntimeException refused(StoreException failed) {
        String what = "The database refused to store a lock name (" + SqlErrors.words(failed) + "): ";
        if (failed.failure() == Failure.READ_ONLY) {
            return new DatabaseSetupException(
                    readOnly(), what + "Holdfast needs write access to the primary database", failed);
        }
        if (errors.isMissingRight(failed)) {
            return new DatabaseSetupException(
                    Problem.MISSING_RIGHT,
                    what + "Holdfast needs write access, the rights to select, insert, update and delete in "
                            + String.join(", ", tables().names().inSql()),
                    failed);
        }
        return new DatabaseSetupException(Problem.COLLATION, what + nameColumn(), failed);
    }

    private Problem readOnly() {
        try (Session session = IsolatedPersistenceUnit.of(factory, dataSource)
                .createEntityManager()
                .unwrap(Session.class)) {
            return session.doReturningWork(errors::readOnly);
        }
    }

    /** Says where the tables are, if they are not where the persistence unit looks for them. */
    private RuntimeException missing(StoreException failed) {
        DataSource application = tables().dataSource().orElse(null);
        if (dataSource != null && application != null && found(application) == null) {
            return StartupCheck.otherDatabase(failed);
        }
        DataSource used = dataSource != null ? dataSource : application;
        DatabaseSetupException problem = used == null ? null : found(used);
        if (problem != null && problem.problem() == Problem.WRONG_PLACE) {
            return problem;
        }
        return new StoreException(
                Failure.TABLE_MISSING,
                "One of the tables %s is missing, or lacks a column (%s): apply the Liquibase changelog %s, or the SQL of LockSchema.script"
                                .formatted(
                                        String.join(", ", tables().names().inSql()),
                                        SqlErrors.words(failed),
                                        Changelog.PATH)
                        + ", or call LockSchema",
                failed);
    }

    /** Finds the first problem of the tables in a database; null if there is none. */
    private @Nullable DatabaseSetupException found(DataSource database) {
        try {
            tables().on(database).validate();
            return null;
        } catch (DatabaseSetupException problem) {
            return problem;
        }
    }

    /** Asks the mapping, which only a failure needs. */
    private LockTables tables() {
        return LockTables.of(factory);
    }

    private String nameColumn() {
        return "the column " + tables().names().table("distributed_lock") + ".name" + COLLATION;
    }

    private void storesNames() {
        for (List<String> different : DIFFERENT_NAMES) {
            try {
                boolean unused =
                        StartupCheck.repeated(() -> store.inRolledBackTransaction(StartupCheck.AT_MOST, locks -> {
                            tableIsByteExact(locks, different);
                            return locks.wasForced("holdfast", 0)
                                    || store.runs().last("holdfast").isPresent()
                                    || store.hasHoldersAndWaiters("holdfast");
                        }));
                return;
            } catch (StoreException failed) {
                boolean isLast = different.equals(DIFFERENT_NAMES.get(DIFFERENT_NAMES.size() - 1));
                if (isLast || !errors.isCharacterMissing(failed)) {
                    throw failed;
                }
                LOG.info(
                        "The database's encoding is not Unicode, so a lock whose name has other characters is refused: {}",
                        SqlErrors.words(failed));
            }
        }
    }

    /**
     * Checks that the database distinguishes names byte by byte, and stores them unchanged. With an unsuitable collation, different names
     * would be one lock. The only symptom would usually be a lock that is strangely busy.
     */
    private void tableIsByteExact(LockRows locks, List<String> different) {
        String suffix = UUID.randomUUID().toString();
        String probe = different.get(0) + suffix;
        locks.createIfMissing(probe);
        String stored = locks.read(probe).map(found -> found.row().name()).orElse(probe);
        // The type char pads the name, which is another fault.
        if (!stored.stripTrailing().equals(probe)) {
            throw new DatabaseSetupException(
                    Problem.CHARACTER_SET,
                    "The connection changes characters of names, so different names would be one lock: '%s' became '%s'. If the"
                                    .formatted(probe, stored)
                            + " connection's character set is Unicode, " + nameColumn(),
                    null);
        }
        boolean isExact = locks.read(probe).isPresent()
                && different.stream()
                        .skip(1)
                        .allMatch(other -> locks.read(other + suffix).isEmpty())
                && (dialect.ignoresTrailingSpaces() || locks.read(probe + " ").isEmpty());
        if (!isExact) {
            throw new DatabaseSetupException(
                    Problem.COLLATION,
                    "The database does not store and compare names byte by byte, so different names would be one lock: "
                            + nameColumn(),
                    null);
        }
    }
}
