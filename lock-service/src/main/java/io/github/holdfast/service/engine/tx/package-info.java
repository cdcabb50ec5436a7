/** Callers' transactions: fenced commits, and releases that wait for them. Not for applications. */
@NullMarked
package io.github.holdfast.service.engine.tx;

import org.jspecify.annotations.NullMarked;
