/** Row locks, which are held by {@code select … for update} in a transaction. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.rowlock;

import org.jspecify.annotations.NullMarked;
