package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.LossCause;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.runtime.Deadline;
import java.time.Duration;
import java.util.Optional;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The validity of a hold by the local clock, and the ways to prolong it. Any thread may read it. */
interface Expiry {

    /**
     * The nanoseconds that are left at this local time; zero or less if the hold has expired. Only a reported end is final.
     */
    long left(long now);

    /** The nanoseconds from this local time until the renewal is overdue; zero or less if it is overdue. */
    long untilSuspect(long now);

    /** Notes that the row showed the grant at this local time. A later end of the grant will be noticed. */
    void confirm(long now);

    /** Whether a renewal can prolong the hold. If not, read the row first, and {@link #confirm} the hold. */
    boolean isConfirmed();

    /**
     * Corrects the hold's end from the database, because the local clock may have stood still.
     *
     * @param left asks the database how long the grant lasts; empty if the grant no longer stands
     * @return false if the grant no longer stands
     * @throws io.github.holdfast.repository.StoreException if the database failed
     */
    boolean correct(Supplier<Optional<Duration>> left);

    /** The cause of the hold's end, or of its expected end. */
    LossCause cause();

    /**
     * Checks whether a nested request may enter a hold of this kind.
     *
     * @param atLeast the requested lease; null if there is none
     * @throws IllegalStateException if it may not
     */
    void checkReentry(String name, @Nullable Duration atLeast);

    /**
     * Writes the row for a nested acquisition.
     *
     * @param count returns the new hold count for the present one
     * @param atLeast the requested lease; null if there was none
     * @return false if the row no longer shows this grant
     */
    boolean reenter(HoldRow row, IntUnaryOperator count, @Nullable Duration atLeast, Deadline deadline)
            throws InterruptedException;

    /**
     * Prolongs the hold, so that it lasts at least this long from now by the database's clock.
     *
     * @param count returns the new hold count for the present one, if the row is written
     * @return false if the database says that the hold has expired
     * @throws IllegalArgumentException if the hold cannot last that long
     */
    boolean renew(HoldRow row, IntUnaryOperator count, Duration atLeast, Deadline deadline) throws InterruptedException;
}
