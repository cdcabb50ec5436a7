package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.shares.Scenario.Mode;

/**
 * The row of the lock or of the semaphore, {@code distributed_lock}.
 *
 * @param state what the row says
 * @param owner the acquisition that has written the last grant; {@link #NOBODY} if the row is free, or a semaphore's
 * @param leaseLeft of an exclusive hold
 */
record LockRow(State state, int owner, int token, int version, int leaseLeft) {

    static final int NOBODY = 0;

    enum State {
        FREE,
        EXCLUSIVE,
        /** It was shared last. Its holders have rows of their own, if there are any. */
        SHARED,
        SEMAPHORE
    }

    static LockRow created(Scenario scenario) {
        return new LockRow(scenario.isOfSemaphore() ? State.SEMAPHORE : State.FREE, NOBODY, 0, 0, 0);
    }

    LockRow grantedAlone(int newOwner) {
        return new LockRow(State.EXCLUSIVE, newOwner, token + 1, version + 1, Scenario.LEASE);
    }

    LockRow grantedShared(int newOwner) {
        return state == State.SEMAPHORE
                ? new LockRow(state, NOBODY, token + 1, version + 1, 0)
                : new LockRow(State.SHARED, newOwner, token + 1, version + 1, 0);
    }

    LockRow freed() {
        return new LockRow(State.FREE, NOBODY, token, version + 1, 0);
    }

    /** Taken from a dead holder: the token is void. */
    LockRow vacated() {
        return new LockRow(State.FREE, NOBODY, token + 1, version + 1, 0);
    }

    LockRow withVersion(int other) {
        return new LockRow(state, owner, token, other, leaseLeft);
    }

    /** What a later write compares. */
    LockRow seen() {
        return new LockRow(state, owner, token, version, 0);
    }

    boolean isSameAs(LockRow seen) {
        return seen().equals(seen);
    }

    boolean is(State expected) {
        return state == expected;
    }

    /** Whether an exclusive holder has left it, whose lease is over. */
    boolean isLeft() {
        return state == State.EXCLUSIVE && leaseLeft == 0;
    }

    /** Whether it shows this hold. That of a shared holder has a row of its own. */
    boolean shows(Hold hold) {
        return hold.mode() == Mode.EXCLUSIVE && isOf(hold.owner()) && token == hold.token();
    }

    boolean isOf(int holder) {
        return state == State.EXCLUSIVE && owner == holder;
    }

    LockRow later() {
        return leaseLeft == 0 ? this : new LockRow(state, owner, token, version, leaseLeft - 1);
    }
}
