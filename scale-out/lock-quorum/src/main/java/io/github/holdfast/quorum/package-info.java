/** Locks that a majority of independent databases grants. */
@NullMarked
package io.github.holdfast.quorum;

import org.jspecify.annotations.NullMarked;
