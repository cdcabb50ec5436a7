package io.github.holdfast.repository;

import static org.hibernate.jpa.SpecHints.HINT_SPEC_LOCK_TIMEOUT;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import jakarta.persistence.LockModeType;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.hibernate.SharedSessionContract;
import org.hibernate.query.CommonQueryContract;
import org.hibernate.query.MutationQuery;
import org.hibernate.query.Query;

/** How a transaction prevents grants of locks until it has ended. */
public enum RowGuard {

    /** Locks up to {@link #BATCH} rows in one statement, shared where the database supports it. */
    LOCKS_ALL {
        @Override
        public Set<Grant> standing(SharedSessionContract session, Collection<Grant> grants) {
            Map<Grant.Kind, List<Grant>> byKind = sorted(grants)
                    .collect(Collectors.groupingBy(
                            Grant::kind, () -> new EnumMap<>(Grant.Kind.class), Collectors.toList()));
            return byKind.values().stream()
                    .flatMap(this::batches)
                    .flatMap(batch -> locked(session, batch).stream())
                    .collect(Collectors.toSet());
        }

        private Stream<List<Grant>> batches(List<Grant> inOrder) {
            return IntStream.iterate(0, from -> from < inOrder.size(), from -> from + BATCH)
                    .mapToObj(from -> inOrder.subList(from, Math.min(from + BATCH, inOrder.size())));
        }
    },

    /**
     * Locks the rows one by one, for databases where a query for several names may lock more rows than it finds.
     */
    LOCKS_EACH {
        @Override
        public Set<Grant> standing(SharedSessionContract session, Collection<Grant> grants) {
            return sorted(grants)
                    .flatMap(grant -> locked(session, List.of(grant)).stream())
                    .collect(Collectors.toSet());
        }
    },

    /**
     * Changes the rows one by one, for servers that do not see each other's row locks, and for databases without locks for reading. It
     * leaves the versions unchanged, because
     * other compare-and-sets depend on them. If two transactions have changed one row, the second one fails at its commit
     * (https://galeracluster.com/library/documentation/certification-based-replication.html). The update must change a value,
     * because the servers do not replicate an update without a change.
     */
    CHANGES_EACH {
        @Override
        public Set<Grant> standing(SharedSessionContract session, Collection<Grant> grants) {
            return sorted(grants).filter(grant -> isChanged(session, grant)).collect(Collectors.toSet());
        }
    };

    /**
     * The number of rows in one statement. Hibernate needs much more than twice the time for a condition of twice the length, and
     * a longer one makes MySQL read the whole table sooner.
     */
    private static final int BATCH = 50;

    /** The query timeout. A statement may wait for a takeover, which is one short transaction and should not take longer. */
    private static final int SECONDS = 10;

    /** The lock timeout that is none, in milliseconds. */
    private static final int WAIT_FOREVER = -1;

    /**
     * Returns the grants that stand, and protects them until the transaction has ended.
     *
     * @param session a session in the transaction
     */
    public abstract Set<Grant> standing(SharedSessionContract session, Collection<Grant> grants);

    /**
     * Sorts the grants, so that all transactions lock rows in the same order. Holders with the same chosen owner may have several
     * locks at once.
     */
    private static Stream<Grant> sorted(Collection<Grant> grants) {
        return grants.stream()
                .sorted(Comparator.comparing(Grant::kind)
                        .thenComparing(Grant::name)
                        .thenComparing(Grant::fencingToken));
    }

    /** Locks the rows of these grants, which are of the same kind, and returns those that stand. */
    private static Set<Grant> locked(SharedSessionContract session, List<Grant> grants) {
        return switch (grants.get(0).kind()) {
            case LOCK -> locked(session, grants, LockEntity.class, Grant::of);
            case SHARE -> locked(session, grants, LockHolder.class, Grant::of);
        };
    }

    private static <T> Set<Grant> locked(
            SharedSessionContract session, List<Grant> grants, Class<T> rows, Function<T, Grant> shown) {
        Query<T> query = session.createQuery(
                "select l from " + entity(grants.get(0)) + " l where " + condition(grants.size()), rows);
        bind(query, grants);
        // Hibernate 6 would take the lock timeout of the persistence unit, which may be not to wait.
        query.setHint(HINT_SPEC_LOCK_TIMEOUT, WAIT_FOREVER);
        query.setLockMode(LockModeType.PESSIMISTIC_READ).setTimeout(SECONDS);
        return query.getResultList().stream().map(shown).collect(Collectors.toSet());
    }

    private static String entity(Grant grant) {
        return grant.kind() == Grant.Kind.LOCK ? "HoldfastLock" : "HoldfastHolder";
    }

    private static boolean isChanged(SharedSessionContract session, Grant grant) {
        MutationQuery update = session.createMutationQuery(
                "update " + entity(grant) + " l set l.guardCount = l.guardCount + 1 where " + condition(1));
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
