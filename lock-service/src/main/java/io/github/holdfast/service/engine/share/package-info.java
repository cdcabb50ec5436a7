/** Shares: permits of semaphores, and shared locks. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.share;

import org.jspecify.annotations.NullMarked;
