package io.github.holdfast.faults.model;

/**
 * The row of the lock, {@code distributed_lock}.
 *
 * @param owner {@link #NOBODY}, or the acquisition that has it
 * @param node the node through which it is held, or {@link #NO_NODE}
 * @param leaseLeft until others heed that {@code expires_at} is past
 * @param unavailableFor until {@code available_at}
 */
record LockRow(int owner, int node, int token, int version, int leaseLeft, int unavailableFor) {

    static final int NOBODY = 0;
    static final int NO_NODE = 0;

    static LockRow created(int token, int version) {
        return new LockRow(NOBODY, NO_NODE, token, version, 0, 0);
    }

    LockRow granted(Grant grant, int lease) {
        return new LockRow(grant.owner(), grant.node(), grant.newToken(), version + 1, grant.leaseInTheWrite(lease), 0);
    }

    LockRow freed() {
        return new LockRow(NOBODY, NO_NODE, token, version + 1, 0, unavailableFor);
    }

    /** Taken from its holder, dead or overruled: the token is void. */
    LockRow vacated(int delay) {
        return new LockRow(NOBODY, NO_NODE, token + 1, version + 1, 0, Math.max(unavailableFor, delay));
    }

    /** Makes writes impossible that were decided on this version, and confirms what is in the row if it is answered. */
    LockRow superseded() {
        return new LockRow(owner, node, token, version + 1, leaseLeft, unavailableFor);
    }

    LockRow later() {
        return new LockRow(owner, node, token, version, Math.max(0, leaseLeft - 1), Math.max(0, unavailableFor - 1));
    }

    boolean shows(Hold hold) {
        return owner == hold.owner() && token == hold.token();
    }

    /** Whether nobody can have it, or be kept from it, any more; what housekeeping purges after the retention. */
    boolean isIdle() {
        return node == NO_NODE && leaseLeft == 0 && unavailableFor == 0;
    }
}
