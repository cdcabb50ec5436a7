/** Withdrawing from an account: with retries after conflicts, and under a lock. */
@NullMarked
package example.accountbalance;

import org.jspecify.annotations.NullMarked;
