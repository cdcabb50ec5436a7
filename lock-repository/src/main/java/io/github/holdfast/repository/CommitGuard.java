package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.StatelessSession;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.H2Dialect;
import org.hibernate.dialect.MySQLDialect;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.support.DataAccessUtils;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaDialect;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Makes sure, in a caller's own transaction, that it commits only while grants stand. The rows are locked, shared where the
 * database can, so that whoever takes a lock over waits until the transaction has ended. Where several servers write, the rows are
 * changed, so that of a takeover and the transaction only one commits. Thread-safe; it works on the calling thread's transaction.
 */
public final class CommitGuard {

    private final SessionFactory factory;
    private final @Nullable EntityManagerFactory boundTo;
    private final @Nullable JpaDialect dialect;
    private final RowGuard rows;
    private volatile @Nullable Integer defaultIsolation;

    private CommitGuard(
            SessionFactory factory,
            @Nullable EntityManagerFactory boundTo,
            @Nullable JpaDialect dialect,
            RowGuard rows) {
        this.factory = factory;
        this.boundTo = boundTo;
        this.dialect = dialect;
        this.rows = rows;
    }

    /**
     * Returns the guard for the transactions of a persistence unit.
     *
     * @param transactionManager the manager of transactions that are to be guarded; null if there is none
     * @throws IllegalStateException if it has no synchronizations
     */
    public static CommitGuard of(
            EntityManagerFactory entityManagerFactory, @Nullable PlatformTransactionManager transactionManager) {
        SessionFactoryImplementor factory = new StartupCheck(entityManagerFactory).sessionFactory();
        RowGuard rows = RowGuard.on(factory.getJdbcServices().getDialect());
        if (transactionManager instanceof JpaTransactionManager jpa) {
            EntityManagerFactory managed = jpa.getEntityManagerFactory();
            if (managed != null && new StartupCheck(managed).sessionFactory() == factory) {
                checkSynchronizes(jpa);
                return new CommitGuard(factory, managed, jpa.getJpaDialect(), rows);
            }
        }
        return new CommitGuard(factory, null, null, rows);
    }

    /** Returns this guard for a database that such servers write; where there are several, it changes the rows. */
    public CommitGuard in(Cluster cluster) {
        return cluster.hasSeveralWriters() ? new CommitGuard(factory, boundTo, dialect, RowGuard.CHANGES_EACH) : this;
    }

    private static void checkSynchronizes(JpaTransactionManager manager) {
        if (manager.getTransactionSynchronization() == AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER) {
            throw new IllegalStateException(
                    "The transaction manager's transactionSynchronization is SYNCHRONIZATION_NEVER: the locks of its transactions"
                            + " could not be looked after");
        }
    }

    /** Whether there is a manager whose transactions it can guard. */
    public boolean isInstalled() {
        return boundTo != null;
    }

    /** Whether the calling thread is in a transaction of the persistence unit that the manager began. */
    public boolean isInTransaction() {
        return entityManager().isPresent();
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
     * Locks or changes the grants' rows in the calling thread's transaction. Flushes it first, unless its flush mode is manual. One
     * statement, besides those of the flush; on MariaDB, and where several servers write, one for each grant.
     *
     * @return those that no longer stand
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
                        "There is no transaction of the locks' persistence unit that the transaction manager of the"
                                + " lock service began"));
    }

    /**
     * As {@link #check(Collection)}, in the transaction of this entity manager.
     *
     * @throws IllegalStateException if it has no active transaction, or is of another persistence unit
     */
    public List<Grant> check(Collection<Grant> grants, EntityManager entityManager) {
        Session session = entityManager.unwrap(Session.class);
        if (session.getSessionFactory() != factory) {
            throw new IllegalStateException("The entity manager is of another persistence unit than the locks");
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
            throw StoreException.of(SqlErrors.ofStatement(thrown), thrown);
        }
        if (isUnseen) {
            throw StoreException.overtaken();
        }
        return gone;
    }

    /** What fails here would have failed in the commit, and is thrown as it would have been by that. */
    private void flush(Session session) {
        if (session.getHibernateFlushMode() == FlushMode.MANUAL) {
            return;
        }
        try {
            session.flush();
        } catch (RuntimeException thrown) {
            throw dialect == null ? thrown : DataAccessUtils.translateIfNecessary(thrown, dialect);
        }
    }

    /**
     * On the same connection, but beside the caller's persistence context: what is loaded there may be of an older version,
     * and Hibernate would refuse to lock it.
     */
    private Set<Grant> standing(Session session, Collection<Grant> grants) {
        try (StatelessSession beside =
                session.statelessWithOptions().connection().openStatelessSession()) {
            return rows.standing(beside, grants);
        }
    }

    /**
     * Whether the transaction sees the row as it was before this grant; tokens only grow. At REPEATABLE READ or higher,
     * PostgreSQL and H2 look for rows to lock in what the transaction saw at its first read, and find none there that was
     * granted since.
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

    /** Returns how many entities are loaded where the calling thread's transaction reads. */
    public int loadedEntities() {
        return entityManager()
                .map(em -> em.unwrap(Session.class).getStatistics().getEntityCount())
                .orElse(0);
    }

    /**
     * Whether the calling thread's transaction, once it has read, goes on seeing what it saw then: not what former holders have
     * committed since.
     */
    public boolean keepsSnapshot() {
        return entityManager()
                .filter(em -> isolation(em) >= TransactionDefinition.ISOLATION_REPEATABLE_READ)
                .isPresent();
    }

    /**
     * Whether the calling thread's transaction, which has read already, may overlook what was committed under the lease that was
     * before this grant: it does not see yet that the lock was free then. At REPEATABLE READ on MySQL and MariaDB, which do not
     * notice by themselves, one statement, which fixes the snapshot of a transaction that has none. H2 cannot be asked: there each
     * table has a snapshot of its own. Elsewhere the check before the commit finds out.
     *
     * @param seen grants under which nothing was committed since the transaction began
     * @throws StoreException if the database failed
     */
    public boolean mayOverlookWhatWasBefore(Grant grant, Set<Grant> seen) {
        return entityManager()
                .filter(em -> isolation(em) == TransactionDefinition.ISOLATION_REPEATABLE_READ)
                .filter(em -> isOn(H2Dialect.class)
                        || (isOnInnoDb() && !seesWhatWasBefore(em.unwrap(Session.class), grant, seen)))
                .isPresent();
    }

    private static boolean seesWhatWasBefore(Session session, Grant grant, Set<Grant> seen) {
        try (StatelessSession beside =
                session.statelessWithOptions().connection().openStatelessSession()) {
            return beside
                    .createSelectionQuery("select l from HoldfastLock l where l.name = :name", LockEntity.class)
                    .setParameter("name", grant.name())
                    .getResultList()
                    .stream()
                    .anyMatch(row -> row.fencingToken() >= grant.fencingToken()
                            || (row.fencingToken() == grant.fencingToken() - 1
                                    && (row.owner() == null || seen.contains(Grant.of(row)))));
        } catch (RuntimeException thrown) {
            throw StoreException.of(SqlErrors.ofStatement(thrown), thrown);
        }
    }

    private boolean isOnInnoDb() {
        return isOn(MySQLDialect.class);
    }

    private boolean isOn(Class<? extends Dialect> dialectClass) {
        return dialectClass.isInstance(factory.unwrap(SessionFactoryImplementor.class)
                .getJdbcServices()
                .getDialect());
    }

    /**
     * Whether the calling thread's transaction, if its first statement waits for a row, goes on seeing what was committed before
     * that wait. MySQL and MariaDB take the snapshot with the first read that locks nothing
     * (https://dev.mysql.com/doc/refman/8.0/en/innodb-consistent-read.html).
     */
    public boolean waitsWithItsSnapshot() {
        return keepsSnapshot() && !isOnInnoDb();
    }

    private int isolation(EntityManager entityManager) {
        Integer ofTransaction = TransactionSynchronizationManager.getCurrentTransactionIsolationLevel();
        if (ofTransaction != null) {
            return ofTransaction;
        }
        Integer ofConnections = defaultIsolation;
        if (ofConnections == null) {
            try {
                ofConnections =
                        entityManager.unwrap(Session.class).doReturningWork(Connection::getTransactionIsolation);
            } catch (RuntimeException thrown) {
                throw StoreException.of(SqlErrors.ofStatement(thrown), thrown);
            }
            defaultIsolation = ofConnections;
        }
        return ofConnections;
    }
}
