package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.QueryHint;
import java.util.List;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.QueryHints;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * Reads the held locks in pages, for operators. Every method is one statement. Call it like those of {@link LockPageRepository}.
 *
 * <p>These queries are apart from the others, because to parse them takes as long as to parse fifty others, and only operators need
 * them. Hibernate's parser takes so long for a subquery inside of brackets.
 */
public interface LockSearchRepository extends Repository<LockEntity, String> {

    /** The condition that a lock with an owner is held, by the owner or by one of its sharers. */
    String IS_HELD = """
            (m.ended = false or m.id is null and l.expiresAt > db_clock()
                or l.holdCount = -1 and l.permits is null and exists (
                    select 1 from HoldfastHolder h left join HoldfastNode n on n.id = h.nodeId
                    where h.name = l.name and
            """ + PermitRepository.HAS_GRANT + """
                ))
            """;

    /**
     * Reads the locks that are held by a running lease, or through a node that has not been ended. Also those that are shared,
     * if a holder has such a lease or node.
     */
    @Query("""
            select new io.github.holdfast.repository.rows.LockSnapshot(l, m, db_clock())
            from HoldfastLock l left join HoldfastNode m on m.id = l.nodeId
            where l.name > coalesce(:after, ' ') and l.owner is not null
                and
            """ + IS_HELD + """
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockSnapshot> held(@Param("after") String after, @Param("limit") int limit);

    /**
     * Reads those of the {@link #held} locks that match all conditions. The names limit the part of the table that is read. The
     * other conditions have no index: the statement ends when it has found enough.
     *
     * <p>Not by {@code like}: for it, MariaDB reads a range of the index that ends before names with an emoji after the begin.
     *
     * @param first how the names begin
     * @param before greater than all names that begin so, if it is not empty
     * @param holder a pattern of SQL with the escape character {@code !}, in lower case, for the description, the owner or the node of a
     *     holder; {@code %} for all
     * @param state ANY, ALONE, SHARED, OVERDUE or WAITED_FOR
     */
    @Query("""
            select new io.github.holdfast.repository.rows.LockSnapshot(l, m, db_clock())
            from HoldfastLock l left join HoldfastNode m on m.id = l.nodeId
            where l.name >= coalesce(:first, ' ') and l.name > coalesce(:after, ' ') and (coalesce(:before, ' ') in ('', ' ') or l.name < :before)
                and (coalesce(:first, ' ') in ('', ' ') or locate(:first, l.name) = 1) and l.owner is not null
                and (:state <> 'ALONE' or l.holdCount > 0) and (:state <> 'SHARED' or l.holdCount = -1)
                and (:state <> 'OVERDUE' or m.expiresAt <= db_clock() or l.holdCount = -1 and exists (
                    select 1 from HoldfastHolder o join HoldfastNode p on p.id = o.nodeId
                    where o.name = l.name and p.ended = false and p.expiresAt <= db_clock()))
                and (:state <> 'WAITED_FOR' or exists (
                    select 1 from HoldfastWaiter w join HoldfastNode q on q.id = w.nodeId
                    where w.name = l.name and q.ended = false and q.waitsUntil > db_clock()))
                and (:holder = '%' or l.holdCount > 0 and (lower(coalesce(l.holder, '')) like :holder escape '!'
                        or lower(l.owner) like :holder escape '!' or lower(coalesce(l.nodeId, '')) like :holder escape '!')
                    or l.holdCount = -1 and exists (
                        select 1 from HoldfastHolder h left join HoldfastNode n on n.id = h.nodeId
                        where h.name = l.name and (lower(coalesce(h.holder, '')) like :holder escape '!'
                            or lower(h.owner) like :holder escape '!' or lower(coalesce(h.nodeId, '')) like :holder escape '!')
                            and
            """ + PermitRepository.HAS_GRANT + """
                    ))
                and
            """ + IS_HELD + """
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockSnapshot> search(
            @Param("first") String first,
            @Param("after") String after,
            @Param("before") String before,
            @Param("holder") String holder,
            @Param("state") String state,
            @Param("limit") int limit);
}
