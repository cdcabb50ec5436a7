/** Acquisitions of locks that are held by their row. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.acquire;

import org.jspecify.annotations.NullMarked;
