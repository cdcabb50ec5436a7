package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSnapshot;

/**
 * What else is decided and written in the transaction that grants a lock. The grant is a compare-and-set of the row that was
 * seen, so what is decided before holds as long as it can only change together with a grant.
 */
interface GrantStep {

    /** For a lock that is just a lock. */
    GrantStep NONE = new GrantStep() {
        @Override
        public boolean isWanted(LockSnapshot seen) {
            return true;
        }

        @Override
        public void granted(LockEntity row) {}
    };

    /**
     * Decides whether the lock, which is free, is wanted at all; asked again by each attempt.
     *
     * @param seen the lock and the database's clock
     */
    boolean isWanted(LockSnapshot seen);

    /**
     * Writes what is to be committed together with the grant.
     *
     * @param row the lock, as the grant wrote it
     */
    void granted(LockEntity row);
}
