/** An application with ShedLock's annotations moves from ShedLock's table to Holdfast. */
@NullMarked
package example.fromshedlock;

import org.jspecify.annotations.NullMarked;
