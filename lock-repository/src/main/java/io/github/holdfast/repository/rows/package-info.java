/** Reads and writes the rows of locks, holders, waiters, nodes and runs. Each port stands beside its queries. Not for applications. */
@NullMarked
package io.github.holdfast.repository.rows;

import org.jspecify.annotations.NullMarked;
