/** Bugs that are put into the production code on purpose, one at a time, and whether the tests catch them. */
@NullMarked
package io.github.holdfast.faults.mutations;

import org.jspecify.annotations.NullMarked;
