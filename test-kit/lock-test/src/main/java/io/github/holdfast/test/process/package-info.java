/** Starts processes, and ends them. */
@NullMarked
package io.github.holdfast.test.process;

import org.jspecify.annotations.NullMarked;
