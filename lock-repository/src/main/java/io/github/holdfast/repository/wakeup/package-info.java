/** Wakes waiters on other nodes, and listens for them. Not for applications. */
@NullMarked
package io.github.holdfast.repository.wakeup;

import org.jspecify.annotations.NullMarked;
