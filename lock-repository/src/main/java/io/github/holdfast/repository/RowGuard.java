package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.LockModeType;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.hibernate.StatelessSession;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.MariaDBDialect;
import org.hibernate.query.CommonQueryContract;
import org.hibernate.query.MutationQuery;
import org.hibernate.query.Query;

/** How a transaction sees to it that nobody is granted locks before it has ended. */
enum RowGuard {

    /** It locks their rows, shared where the database can. One statement. */
    LOCKS_ALL {
        @Override
        Set<Grant> standing(StatelessSession session, Collection<Grant> grants) {
            return locked(session, List.copyOf(grants));
        }
    },

    /**
     * It locks their rows one by one. For MariaDB, which reads a whole small table to find a few names in it; at REPEATABLE READ it
     * then locks all of it, gaps and all, also if the names are given once more as a list.
     */
    LOCKS_EACH {
        @Override
        Set<Grant> standing(StatelessSession session, Collection<Grant> grants) {
            return sorted(grants)
                    .flatMap(grant -> locked(session, List.of(grant)).stream())
                    .collect(Collectors.toSet());
        }
    },

    /**
     * It changes their rows, one by one, but not their versions, on which others decide. For servers that know nothing of each
     * other's row locks: of two transactions that have changed one row, the second one fails when it commits
     * (https://galeracluster.com/library/documentation/certification-based-replication.html). An update that changes no value is
     * not replicated, and would not do.
     */
    CHANGES_EACH {
        @Override
        Set<Grant> standing(StatelessSession session, Collection<Grant> grants) {
            return sorted(grants).filter(grant -> isChanged(session, grant)).collect(Collectors.toSet());
        }
    };

    /** Taking a lock over is one short transaction; longer than that it should not take. */
    private static final int SECONDS = 10;

    /** The one that locks. */
    static RowGuard on(Dialect dialect) {
        return dialect instanceof MariaDBDialect ? LOCKS_EACH : LOCKS_ALL;
    }

    /**
     * Looks which grants stand, and keeps them standing until the transaction has ended.
     *
     * @param session in the transaction
     */
    abstract Set<Grant> standing(StatelessSession session, Collection<Grant> grants);

    /** In one order for everybody: holders with the same chosen owner may have several locks at the same time. */
    private static Stream<Grant> sorted(Collection<Grant> grants) {
        return grants.stream().sorted(Comparator.comparing(Grant::name));
    }

    private static Set<Grant> locked(StatelessSession session, List<Grant> grants) {
        Query<LockEntity> query =
                session.createQuery("select l from HoldfastLock l where " + condition(grants.size()), LockEntity.class);
        bind(query, grants);
        query.setLockMode(LockModeType.PESSIMISTIC_READ).setTimeout(SECONDS);
        return query.getResultList().stream().map(Grant::of).collect(Collectors.toSet());
    }

    private static boolean isChanged(StatelessSession session, Grant grant) {
        MutationQuery update = session.createMutationQuery(
                "update HoldfastLock l set l.guardCount = l.guardCount + 1 where " + condition(1));
        bind(update, List.of(grant));
        return update.setTimeout(SECONDS).executeUpdate() == 1;
    }

    private static String condition(int grants) {
        return IntStream.range(0, grants)
                .mapToObj("(l.name = :n%1$d and l.fencingToken = :t%1$d and l.owner = :o%1$d)"::formatted)
                .collect(Collectors.joining(" or "));
    }

    private static void bind(CommonQueryContract query, List<Grant> grants) {
        for (int i = 0; i < grants.size(); i++) {
            query.setParameter("n" + i, grants.get(i).name());
            query.setParameter("t" + i, grants.get(i).fencingToken());
            query.setParameter("o" + i, grants.get(i).owner());
        }
    }
}
