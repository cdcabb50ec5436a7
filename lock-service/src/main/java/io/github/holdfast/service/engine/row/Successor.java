package io.github.holdfast.service.engine.row;

import io.github.holdfast.entity.LockEntity;

/** A grant that a release writes in place of the release. */
public interface Successor {

    /**
     * Writes the grant.
     *
     * @param held the row as the holder last wrote it
     * @return whether it is granted. Otherwise, the lock must be released
     */
    boolean write(LockEntity held);

    /** Whether the grant may have been written, although no answer says so. */
    boolean isInDoubt();
}
