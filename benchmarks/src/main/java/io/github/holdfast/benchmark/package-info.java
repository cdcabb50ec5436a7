/** Benchmarks of locks. Run these programs by hand; they print their measurements. */
@NullMarked
package io.github.holdfast.benchmark;

import org.jspecify.annotations.NullMarked;
