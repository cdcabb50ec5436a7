/** Starts the elections that are beans. Not for applications. */
@NullMarked
package io.github.holdfast.autoconfigure.election;

import org.jspecify.annotations.NullMarked;
