/** A store in memory for tests. It passes the same contracts as the databases. */
@NullMarked
package io.github.holdfast.repository.memory;

import org.jspecify.annotations.NullMarked;
