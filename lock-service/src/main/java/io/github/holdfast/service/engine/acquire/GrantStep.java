package io.github.holdfast.service.engine.acquire;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.rows.LockSnapshot;

/**
 * An additional decision and write in the transaction that grants a lock. The grant is a compare-and-set of the row that was
 * read. So a decision is still right at the grant, if only a grant can change it.
 */
public interface GrantStep {

    /** No additional step, for a plain lock. */
    GrantStep NONE = new GrantStep() {
        @Override
        public boolean accepts(LockSnapshot seen) {
            return true;
        }

        @Override
        public void granted(LockEntity row) {}
    };

    /**
     * Returns whether to grant the free lock. Each attempt calls this.
     *
     * @param seen the lock and the database's clock
     */
    boolean accepts(LockSnapshot seen);

    /**
     * Writes further rows in the transaction of the grant.
     *
     * @param row the lock, as the grant wrote it
     */
    void granted(LockEntity row);
}
