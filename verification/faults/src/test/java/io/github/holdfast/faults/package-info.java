/** What processes under faults saw, and a checker that judges it. */
@NullMarked
package io.github.holdfast.faults;

import org.jspecify.annotations.NullMarked;
