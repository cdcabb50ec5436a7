package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import java.util.List;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/** What a service that was woken by its {@link MysqlBell} asks. Other databases do not need it, and do not parse it at the start. */
interface MysqlBellRepository extends Repository<LockEntity, String> {

    /**
     * Finds the names for which threads of a service wait, and which nobody holds. That includes the locks of dead holders, if they
     * are available, and if their nodes were ended. It also includes semaphores that have a permit left, and shared locks without
     * holders, or which nobody wants. The names are hints.
     *
     * @param bell the service's bell
     */
    @Query("""
            select distinct w.name from HoldfastWaiter w
            join HoldfastNode n on n.id = w.nodeId join HoldfastLock l on l.name = w.name
            left join HoldfastNode h on h.id = l.nodeId
            where n.bell = :bell
                and (l.owner is null
                    or (l.permits is not null
                        and l.permits > (select coalesce(sum(p.permits), 0L) from HoldfastHolder p where p.name = l.name))
                    or (l.permits is null and l.holdCount = -1
                        and (l.wantedUntil is null or l.wantedUntil <= db_clock()
                            or not exists (select 1 from HoldfastHolder p where p.name = l.name)))
                    or ((l.availableAt is null or l.availableAt <= db_clock())
                        and ((l.nodeId is null and l.expiresAt <= db_clock())
                            or (l.nodeId is not null and (h.id is null or h.ended = true)))))
            """)
    List<String> free(@Param("bell") long bell);
}
