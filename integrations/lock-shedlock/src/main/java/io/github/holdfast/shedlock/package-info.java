/** ShedLock's {@code LockProvider} over Holdfast's locks. */
@NullMarked
package io.github.holdfast.shedlock;

import org.jspecify.annotations.NullMarked;
