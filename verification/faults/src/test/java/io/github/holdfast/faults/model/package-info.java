/**
 * A model of the protocol of the locks, and an explorer that tries all interleavings of its steps.
 * What it models is in ADR 0001 (the clock), 0002 (compare-and-set), 0004 (unanswered commits), 0007 (nodes), 0008 (guards) and 0010 (row locks).
 *
 * <p>It has one lock and two services. Whatever crosses the network is a message that the database executes at any later step, or
 * whose answer is lost; the clock ticks at any step, so that every pause is among the interleavings. Times are what is left of
 * them. Local clocks run as fast as the database's. A synchronous standby may be cut off, so that commits wait, waits may be
 * cancelled, and another server may become the database: with what the standby has, or with a clock that is ahead.
 *
 * <p>Not in it: hold counts, renewals of explicit leases, owners chosen by the user, several names, the queue in a process, and
 * what isolation levels add. Contracts on real databases test those.
 */
@NullMarked
package io.github.holdfast.faults.model;

import org.jspecify.annotations.NullMarked;
