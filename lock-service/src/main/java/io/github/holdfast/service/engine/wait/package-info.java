/** Waiters: the queue of this process, their places among those of other nodes, and what wakes them. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.wait;

import org.jspecify.annotations.NullMarked;
