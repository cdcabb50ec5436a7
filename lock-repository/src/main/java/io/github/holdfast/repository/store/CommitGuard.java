package io.github.holdfast.repository.store;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.HibernateSessions;
import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.LockDialect.Snapshots;
import io.github.holdfast.repository.RowGuard;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.StoreException;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.SharedSessionContract;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.engine.spi.SessionImplementor;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.resource.jdbc.spi.LogicalConnectionImplementor;
import org.hibernate.resource.transaction.spi.TransactionStatus;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.support.DataAccessUtils;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaDialect;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Guards a caller's own transaction, so that it commits only while its grants stand. The guard locks the rows of the grants,
 * shared where the database supports it. A takeover then waits until the transaction has ended. Where several servers write, the
 * guard changes the rows instead. Then either the takeover or the transaction commits, never both. Thread-safe; works on the
 * calling thread's transaction.
 */
public final class CommitGuard {

    private static final Logger LOG = LoggerFactory.getLogger(CommitGuard.class);

    private final SessionFactory factory;
    private final @Nullable EntityManagerFactory boundTo;
    private final @Nullable JpaDialect jpaDialect;
    private final LockDialect dialect;
    private final RowGuard rows;
    private volatile @Nullable Integer defaultIsolation;

    public CommitGuard(
            SessionFactory factory,
            @Nullable EntityManagerFactory boundTo,
            @Nullable JpaDialect jpaDialect,
            LockDialect dialect,
            RowGuard rows) {
        this.factory = factory;
        this.boundTo = boundTo;
        this.jpaDialect = jpaDialect;
        this.dialect = dialect;
        this.rows = rows;
    }

    /**
     * Checks that Holdfast supports the application's transaction manager.
     *
     * @throws IllegalArgumentException if the manager coordinates JTA transactions
     */
    public static void checkSupported(PlatformTransactionManager transactionManager) {
        for (Class<?> type = transactionManager.getClass(); type != null; type = type.getSuperclass()) {
            // Compared by name, because the class does not load without jakarta.transaction on the class path.
            if (type.getName().equals("org.springframework.transaction.jta.JtaTransactionManager")) {
                throw new IllegalArgumentException("The transaction manager is a "
                        + transactionManager.getClass().getName()
                        + ", for JTA transactions, and the locks' persistence unit needs resource-local ones: give the locks a unit of"
                        + " their own, and this manager to separateTransactionManager(...)");
            }
        }
    }

    /**
     * Returns the guard for the transactions of a persistence unit.
     *
     * @param transactionManager the manager of the transactions to guard; null if there is none
     * @throws IllegalStateException if the manager's synchronizations are switched off
     */
    public static CommitGuard of(
            EntityManagerFactory entityManagerFactory, @Nullable PlatformTransactionManager transactionManager) {
        SessionFactoryImplementor factory = new StartupCheck(entityManagerFactory).sessionFactory();
        LockDialect dialect = KnownDialects.of(factory);
        if (transactionManager instanceof JpaTransactionManager jpa) {
            EntityManagerFactory managed = jpa.getEntityManagerFactory();
            if (managed != null && new StartupCheck(managed).sessionFactory() == factory) {
                checkSynchronizes(jpa);
                return new CommitGuard(factory, managed, jpa.getJpaDialect(), dialect, dialect.guard());
            }
        }
        return new CommitGuard(factory, null, null, dialect, dialect.guard());
    }

    /** Returns this guard for the database of a store. If several servers write the database, the guard changes the rows. */
    public CommitGuard in(LockStore store) {
        return store.severalWriters().isPresent() ? whereSeveralWrite() : this;
    }

    CommitGuard whereSeveralWrite() {
        return new CommitGuard(factory, boundTo, jpaDialect, dialect, RowGuard.CHANGES_EACH);
    }

    /**
     * Checks that a manager reports the ends of its transactions.
     *
     * @throws IllegalStateException if its synchronizations are switched off
     */
    public static void checkSynchronizes(PlatformTransactionManager manager) {
        if (manager instanceof AbstractPlatformTransactionManager reporting
                && reporting.getTransactionSynchronization()
                        == AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER) {
            throw new IllegalStateException(
                    "The transaction manager's transactionSynchronization is SYNCHRONIZATION_NEVER: Holdfast could not"
                            + " guard its transactions. Set it to SYNCHRONIZATION_ALWAYS, the default");
        }
    }

    /** Whether there is a transaction manager, so that the guard can check transactions. */
    public boolean isInstalled() {
        return boundTo != null;
    }

    /** Whether the calling thread is in a transaction of the persistence unit that the manager began. */
    public boolean isInTransaction() {
        return entityManager().isPresent();
    }

    /** Whether that transaction can only be rolled back. */
    public boolean isMarkedForRollback() {
        return entityManager()
                .filter(current -> current.getTransaction().getRollbackOnly())
                .isPresent();
    }

    /** Whether that transaction is the one of this entity manager. */
    public boolean isInTransactionOf(EntityManager entityManager) {
        return entityManager()
                .filter(current -> session(current) == session(entityManager))
                .isPresent();
    }

    /** Not as a {@link Session}: a shared entity manager of Spring is one itself, and shows no transaction. */
    private static SessionImplementor session(EntityManager entityManager) {
        return entityManager.unwrap(SessionImplementor.class);
    }

    private Optional<EntityManager> entityManager() {
        if (boundTo != null
                && TransactionSynchronizationManager.isActualTransactionActive()
                && TransactionSynchronizationManager.getResource(boundTo) instanceof EntityManagerHolder holder
                && holder.getEntityManager().getTransaction().isActive()) {
            return Optional.of(holder.getEntityManager());
        }
        return Optional.empty();
    }

    /**
     * Rolls the calling thread's transaction back, whose commit has failed. Costs two round trips at most. Never throws.
     *
     * @return whether the database has answered the commit. A connection that lost an answer is broken, and takes neither a rollback nor a
     *     test afterwards. A driver or a proxy that goes on with another server hides that
     */
    public boolean rollBackFailedCommit() {
        if (boundTo == null
                || !(TransactionSynchronizationManager.getResource(boundTo) instanceof EntityManagerHolder holder)) {
            return false;
        }
        try {
            SharedSessionContractImplementor session =
                    holder.getEntityManager().unwrap(SharedSessionContractImplementor.class);
            LogicalConnectionImplementor connection =
                    session.getJdbcCoordinator().getLogicalConnection();
            // Hibernate has given the connection back only if it could roll back after the commit.
            return connection.isPhysicallyConnected()
                    ? session.doReturningWork(CommitGuard::rollBackAndTest)
                    : connection.getPhysicalJdbcTransaction().getStatus() == TransactionStatus.ROLLED_BACK;
        } catch (RuntimeException | Error broken) {
            LOG.debug("The connection of a failed commit is broken", broken);
            return false;
        }
    }

    /** Rolls back first: a commit that failed before it was sent has left the transaction open. */
    private static boolean rollBackAndTest(Connection connection) throws SQLException {
        connection.rollback();
        return connection.isValid(1);
    }

    /**
     * Locks or changes the grants' rows in the calling thread's transaction. Flushes its session first, unless the flush mode is
     * manual. Besides the flush, the check takes one statement for up to 50 grants. On MariaDB, and where several servers write, it
     * takes one statement for each grant.
     *
     * @return the grants that no longer stand
     * @throws StoreException if the database failed; the transaction must be rolled back
     * @throws IllegalStateException if there is no such transaction
     */
    public List<Grant> check(Collection<Grant> grants) {
        return check(grants, requiredEntityManager());
    }

    /**
     * Returns the entity manager of the calling thread's transaction.
     *
     * @throws IllegalStateException if there is no such transaction
     */
    EntityManager requiredEntityManager() {
        return entityManager()
                .orElseThrow(() -> new IllegalStateException(
                        "The lock service's transaction manager has not begun a transaction of the locks' persistence"
                                + " unit on this thread"));
    }

    /**
     * Does the same as {@link #check(Collection)}, in the transaction of this entity manager.
     *
     * @throws IllegalStateException if the entity manager has no active transaction, or belongs to another persistence unit
     */
    public List<Grant> check(Collection<Grant> grants, EntityManager entityManager) {
        Session session = session(entityManager);
        if (session.getSessionFactory() != factory) {
            throw new IllegalStateException("The entity manager belongs to another persistence unit than the locks");
        }
        if (!session.getTransaction().isActive()) {
            throw new IllegalStateException("The entity manager has no active transaction");
        }
        flush(session);
        List<Grant> gone;
        boolean isUnseen;
        try {
            Set<Grant> standing = standing(session, grants);
            gone = grants.stream().filter(grant -> !standing.contains(grant)).toList();
            isUnseen = gone.stream().anyMatch(grant -> isUnseen(session, grant));
        } catch (RuntimeException thrown) {
            throw StoreException.of(SqlErrors.of(dialect).ofStatement(thrown), thrown);
        }
        if (isUnseen) {
            throw StoreException.overtaken();
        }
        return gone;
    }

    /**
     * Locks or changes the grants' rows in a transaction of their own, on another connection of the persistence unit. For the transactions of a
     * manager that is not of this unit. It costs the statements of {@link #check(Collection)}, and a rollback when the guard is closed.
     *
     * @throws StoreException if the database failed
     */
    public SeparateGuard checkSeparately(Collection<Grant> grants) {
        Session session;
        try {
            session = HibernateSessions.of(factory).openSession();
        } catch (RuntimeException thrown) {
            throw StoreException.of(SqlErrors.ofBegin(thrown), thrown);
        }
        SeparateGuard failed = new SeparateGuard(session, List.of());
        try {
            session.beginTransaction();
        } catch (RuntimeException thrown) {
            boolean unused = failed.end();
            throw StoreException.of(SqlErrors.ofBegin(thrown), thrown);
        }
        try {
            return new SeparateGuard(session, check(grants, session));
        } catch (RuntimeException thrown) {
            // Hibernate leaves a session open whose transaction is active, and a timeout ends only the statement.
            boolean unused = failed.end();
            throw thrown;
        }
    }

    /** Flushes the session. A failure here would also fail the commit, so it is thrown as the commit would throw it. */
    private void flush(Session session) {
        if (session.getHibernateFlushMode() == FlushMode.MANUAL) {
            return;
        }
        try {
            session.flush();
        } catch (RuntimeException thrown) {
            throw jpaDialect == null ? thrown : DataAccessUtils.translateIfNecessary(thrown, jpaDialect);
        }
    }

    /**
     * Returns the grants that stand. It reads on the same connection, but bypasses the caller's persistence context. That may
     * contain an older version of a row, and Hibernate would refuse to lock it.
     */
    private Set<Grant> standing(Session session, Collection<Grant> grants) {
        try (SharedSessionContract beside = HibernateSessions.beside(session)) {
            return rows.standing(beside, grants);
        }
    }

    /**
     * Whether the transaction sees the row as it was before this grant. Tokens only grow, so a smaller token shows this. At
     * REPEATABLE READ or higher, PostgreSQL and H2 search for the rows to lock in the snapshot of the transaction's first read.
     * They find no row of a later grant there.
     */
    private boolean isUnseen(Session session, Grant grant) {
        List<Long> tokens = session.createSelectionQuery(
                        "select l.fencingToken from HoldfastLock l where l.name = :name", Long.class)
                .setParameter("name", grant.name())
                .getResultList();
        return tokens.isEmpty()
                ? isolation(session) >= TransactionDefinition.ISOLATION_REPEATABLE_READ
                : tokens.get(0) < grant.fencingToken();
    }

    /** Returns the number of entities in the persistence context of the calling thread's transaction. */
    public int loadedEntities() {
        return entityManager()
                .map(em -> em.unwrap(Session.class).getStatistics().getEntityCount())
                .orElse(0);
    }

    /**
     * Whether the calling thread's transaction keeps the snapshot of its first read. Then it does not see later commits of previous
     * holders.
     */
    public boolean keepsSnapshot() {
        return entityManager()
                .filter(em -> isolation(em) >= TransactionDefinition.ISOLATION_REPEATABLE_READ)
                .isPresent();
    }

    /**
     * Does the same as {@link #keepsSnapshot()}, for the transaction of this entity manager.
     *
     * @throws StoreException if the database failed
     */
    public boolean keepsSnapshot(EntityManager entityManager) {
        return isolationOfConnection(entityManager) >= TransactionDefinition.ISOLATION_REPEATABLE_READ;
    }

    /**
     * Whether the calling thread's transaction may overlook commits of the lock's previous holder. The transaction has already
     * read, so its snapshot may be older than the release. It is older if it does not show the lock as free after the previous
     * lease. On MySQL and MariaDB at REPEATABLE READ, this check takes one statement, because these databases report no conflict
     * themselves. The statement also fixes the snapshot of a transaction that has none yet. On H2 at that level the answer is
     * always true, because each table has a snapshot of its own. Elsewhere the check before the commit detects the case.
     *
     * @param seen grants under which no transaction has committed since this transaction began
     * @throws StoreException if the database failed
     */
    public boolean snapshotMayMissCommits(Grant grant, Set<Grant> seen) {
        return entityManager()
                .filter(em -> isolation(em) == TransactionDefinition.ISOLATION_REPEATABLE_READ)
                .filter(em -> switch (dialect.snapshots()) {
                    case DETECTED -> false;
                    case FROM_FIRST_READ -> !seesWhatWasBefore(em.unwrap(Session.class), grant, seen);
                    case UNPREDICTABLE -> true;
                })
                .isPresent();
    }

    private boolean seesWhatWasBefore(Session session, Grant grant, Set<Grant> seen) {
        try (SharedSessionContract beside = HibernateSessions.beside(session)) {
            return beside
                    .createSelectionQuery("select l from HoldfastLock l where l.name = :name", LockEntity.class)
                    .setParameter("name", grant.name())
                    .getResultList()
                    .stream()
                    .anyMatch(row -> row.fencingToken() >= grant.fencingToken()
                            || (row.fencingToken() == grant.fencingToken() - 1
                                    && (hasNoOtherHolder(row, seen) || isOver(row, grant, beside))));
        } catch (RuntimeException thrown) {
            throw StoreException.of(SqlErrors.of(dialect).ofStatement(thrown), thrown);
        }
    }

    private static boolean hasNoOtherHolder(LockEntity row, Set<Grant> seen) {
        return row.owner() == null || (!row.isShared() && seen.contains(Grant.of(row)));
    }

    /**
     * Whether no earlier shared holder can still commit what the grant must see. Shared holders do not wait for each other's commits. An
     * exclusive holder does, so the shared holders must be gone in the snapshot.
     */
    private static boolean isOver(LockEntity row, Grant grant, SharedSessionContract beside) {
        return row.isShared()
                && (grant.kind() == Grant.Kind.SHARE
                        || beside.createSelectionQuery(
                                                "select count(h) from HoldfastHolder h where h.name = :name",
                                                Long.class)
                                        .setParameter("name", grant.name())
                                        .getSingleResult()
                                == 0);
    }

    /**
     * Whether the calling thread's transaction keeps a snapshot from before its first statement waited for a row. MySQL and
     * MariaDB take the snapshot later, with the first non-locking read
     * (https://dev.mysql.com/doc/refman/8.0/en/innodb-consistent-read.html).
     */
    public boolean waitsWithItsSnapshot() {
        return keepsSnapshot() && dialect.snapshots() != Snapshots.FROM_FIRST_READ;
    }

    private int isolationOfConnection(EntityManager entityManager) {
        try {
            return entityManager.unwrap(Session.class).doReturningWork(Connection::getTransactionIsolation);
        } catch (RuntimeException thrown) {
            throw StoreException.of(SqlErrors.of(dialect).ofStatement(thrown), thrown);
        }
    }

    private int isolation(EntityManager entityManager) {
        Integer ofTransaction = TransactionSynchronizationManager.getCurrentTransactionIsolationLevel();
        if (ofTransaction != null) {
            return ofTransaction;
        }
        Integer ofConnections = defaultIsolation;
        if (ofConnections == null) {
            ofConnections = isolationOfConnection(entityManager);
            defaultIsolation = ofConnections;
        }
        return ofConnections;
    }
}
