package io.github.holdfast.repository;

/**
 * The SQL of a database for its clock, in UTC and in microseconds. {@code ?1} stands for a number of microseconds, which may be
 * negative or null. It may occur more than once. If the database must know its type, cast it. No other question mark may occur.
 *
 * @param now an expression for the time at which a row is written, or at which its statement began: a timestamp with time zone, or one in
 *     UTC, as the tables have them
 * @param nowPlusMicros an expression for that time plus {@code ?1} microseconds; null if {@code ?1} is null
 * @param beginPlusMicros an expression for a time between the transaction's begin and now, plus {@code ?1} microseconds; queries read
 *     it for every row
 * @param epochMicros an expression for the microseconds from 1970 until {@code now}, as a bigint
 * @param epoch an expression for the microseconds from 1970 until the statement began, as a bigint; the same wherever it stands in
 *     the statement
 */
public record SqlClock(String now, String nowPlusMicros, String beginPlusMicros, String epochMicros, String epoch) {}
