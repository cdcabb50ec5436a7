/** Acquisitions: the loop of all kinds, and the attempts to grant a lock. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.acquire;

import org.jspecify.annotations.NullMarked;
