/** Deducting from a balance: by trying again when others were faster, and under a lock. */
@NullMarked
package example.accountbalance;

import org.jspecify.annotations.NullMarked;
