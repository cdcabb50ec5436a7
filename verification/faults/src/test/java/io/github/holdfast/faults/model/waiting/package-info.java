/**
 * A model of the waiting for a lock between services: tickets, rings, and the queue of the fair requests. What it models is in ADR
 * 0009 (tickets, rings and the poller), 0015 (releases that do not read the next waiter) and 0030 (the queue).
 *
 * <p>It has one lock and two or three threads. A look, the insert of a ticket, a release and a ring are steps of their own. The
 * steps of a program are taken at once, a look of the poller only when time passes. So a state in which no program has anything to
 * do, the lock is free, and a thread sleeps, is a lost wake-up.
 *
 * <p>Not in it: clocks, leases and versions beyond what waiting needs, the queue and the hand-over in a process, offers to other
 * processes, services that do not listen, waiters that no longer heed rings after three in vain, and the repeated removal of a
 * ticket whose insert was in doubt.
 */
@NullMarked
package io.github.holdfast.faults.model.waiting;

import org.jspecify.annotations.NullMarked;
