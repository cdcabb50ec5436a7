/** What locks cost: programs that are run by hand and print what they measured. */
@NullMarked
package io.github.holdfast.benchmark;

import org.jspecify.annotations.NullMarked;
