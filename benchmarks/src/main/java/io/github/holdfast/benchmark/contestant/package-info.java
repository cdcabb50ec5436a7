/** The locks that the benchmarks compare, and what measures them. */
@NullMarked
package io.github.holdfast.benchmark.contestant;

import org.jspecify.annotations.NullMarked;
