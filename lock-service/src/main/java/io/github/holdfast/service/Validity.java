package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** How long a hold is valid by the local clock, and what makes it last. Any thread may look. */
interface Validity {

    /** How many nanoseconds from this local time on; zero or less if it is over, which it then stays. */
    long left(long now);

    /** How many nanoseconds from this local time on until the renewal is overdue; zero or less if it is. */
    long untilSuspect(long now);

    /** The grant was seen to stand at this local time, and whatever ends it from now on is noticed. */
    void confirm(long now);

    /**
     * Corrects it by what the database shows: the local clock may have stood still.
     *
     * @param left asks the database how long the grant lasts; empty if it does not stand any more
     * @return false if it does not stand any more
     * @throws io.github.holdfast.repository.StoreException if the database failed
     */
    boolean correct(Supplier<Optional<Duration>> left);

    /** Why it is over, or will be if nothing changes. */
    LossCause cause();

    /**
     * Checks whether a hold of this kind can be entered like that.
     *
     * @param atLeast the lease that is asked for; null if none is
     * @throws IllegalStateException if not
     */
    void checkReentry(String name, @Nullable Duration atLeast);

    /**
     * Writes the next state of the row, for one who enters the hold.
     *
     * @param atLeast the lease that was asked for; null if none was
     * @return false if the row is no longer this grant's
     */
    boolean reenter(HeldRow row, UnaryOperator<LockEntity> next, @Nullable Duration atLeast, Patience patience)
            throws InterruptedException;

    /**
     * Makes it last at least this long from now, by the database's clock.
     *
     * @param next the row's next state, if it is written
     * @return false if the database says that it is over
     * @throws IllegalArgumentException if it cannot last that long
     */
    boolean renew(HeldRow row, UnaryOperator<LockEntity> next, Duration atLeast, Patience patience)
            throws InterruptedException;
}
